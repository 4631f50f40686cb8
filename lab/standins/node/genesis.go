package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// Genesis has the used fields of the genesis file. As in the real program nothing in it is required: an empty object, an
// empty list, any root and another generation's keys are all silently accepted.
type Genesis struct {
	Root     string `json:"root"`
	L1Config struct {
		ChainID               uint64 `json:"chainId"`
		PolygonZkEVMAddress   string `json:"polygonZkEVMAddress"`
		CDKValidiumAddress    string `json:"cdkValidiumAddress"`
		RollupManagerAddress  string `json:"polygonRollupManagerAddress"`
		GlobalExitRootAddress string `json:"polygonZkEVMGlobalExitRootAddress"`
	} `json:"l1Config"`
	// RollupBlock has the older name GenesisBlock in the older generation's file.
	RollupBlock  uint64 `json:"rollupCreationBlockNumber"`
	GenesisBlock uint64 `json:"genesisBlockNumber"`
	Genesis      []struct {
		Address string `json:"address"`
		Balance string `json:"balance"`
	} `json:"genesis"`
}

// loadGenesis reads the file of a custom network, the only kind in this deployment.
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

// rollupAddress is the rollup's contract on layer 1, under the name that the file's generation uses.
func (g Genesis) rollupAddress() string {
	for _, address := range []string{g.L1Config.PolygonZkEVMAddress, g.L1Config.CDKValidiumAddress} {
		if address != "" {
			return address
		}
	}
	return noAddress
}

const noAddress = "0x0000000000000000000000000000000000000000"

// creationBlock is the block of layer 1 in which the rollup was created.
func (g Genesis) creationBlock() uint64 {
	if g.RollupBlock != 0 {
		return g.RollupBlock
	}
	return g.GenesisBlock
}
