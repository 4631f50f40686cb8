package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// Genesis is what the stand-in uses of the genesis file. As with the real program nothing in it is demanded: an empty object, an
// empty list, any root and another generation's keys are all taken without a word.
type Genesis struct {
	Root     string `json:"root"`
	L1Config struct {
		ChainID              uint64 `json:"chainId"`
		PolygonZkEVMAddress  string `json:"polygonZkEVMAddress"`
		CDKValidiumAddress   string `json:"cdkValidiumAddress"`
		RollupManagerAddress string `json:"polygonRollupManagerAddress"`
	} `json:"l1Config"`
	Genesis []struct {
		Address string `json:"address"`
		Balance string `json:"balance"`
	} `json:"genesis"`
}

// loadGenesis reads the file of a custom network, the only kind that this deployment has.
func loadGenesis(network, path string) (Genesis, error) {
	var genesis Genesis
	if network != "custom" {
		return genesis, fmt.Errorf("unsupported --network value %q. Must be one of: [custom]", network)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return genesis, fmt.Errorf("failed to load genesis configuration from file. Error: %w", err)
	}
	if err := json.Unmarshal(content, &genesis); err != nil {
		return genesis, fmt.Errorf("failed to load genesis configuration from file. Error: %w", err)
	}
	return genesis, nil
}

// rollupAddress is the rollup's contract on layer 1, by whichever name the file's generation has for it.
func (g Genesis) rollupAddress() string {
	for _, address := range []string{g.L1Config.PolygonZkEVMAddress, g.L1Config.CDKValidiumAddress} {
		if address != "" {
			return address
		}
	}
	return "0x0000000000000000000000000000000000000000"
}
