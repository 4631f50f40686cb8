package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Methods of the rollup's contracts, as call data names them.
const (
	chainIDMethod            = "0xadc879e9" // chainID()
	rollupIDMethod           = "0xceee281d" // rollupAddressToID(address)
	rollupDataMethod         = "0xf9c4c2ae" // rollupIDToRollupData(uint32)
	rollupTypeMethod         = "0x65c0504d" // rollupTypeMap(uint32)
	dataAvailabilityMethod   = "0xe57a0b4c" // dataAvailabilityProtocol()
	protocolNameMethod       = "0xe4f17120" // getProcotolName(), the contract's own spelling
	committeeHashMethod      = "0x609d4544" // committeeHash()
	amountOfMembersMethod    = "0xdce1e2b6" // getAmountOfMembers()
	signaturesMethod         = "0x6beedd39" // requiredAmountOfSignatures()
	memberMethod             = "0x5daf08ca" // members(uint256)
	lastSequencedMethod      = "0x423fa856" // lastBatchSequenced()
	lastVerifiedMethod       = "0x7fcb3653" // lastVerifiedBatch()
	dataAvailabilityProtocol = "DataAvailabilityCommittee"
	// Events that name a fork: UpdateZkEVMVersion(uint64,uint64,string), CreateNewRollup(uint32,uint32,address,uint64,address).
	updateVersionEvent = "0xed7be53c9f1a96a481223b15568a5b1a475e01a74b347d6ca187c8bf0c078cd6"
	newRollupEvent     = "0x194c983456df6701c6a50830b90fe80e72b823411d0d524970c9590dc277a641"
)

// etherman reads the rollup's contracts on layer 1.
type etherman struct {
	client  *rpcClient
	genesis Genesis
	older   bool
	// rollupID is that of the rollup in the rollup manager; the older generation has none.
	rollupID uint64
}

// newEtherman makes the calls of the real client's start.
func newEtherman(n *node) (*etherman, error) {
	e := &etherman{client: newRPCClient(n.config.Etherman.URL), genesis: n.genesis, older: n.own.isOlder}
	if e.older {
		return e, nil
	}
	if _, err := e.dataAvailability(); err != nil {
		return nil, err
	}
	id, err := e.number(e.genesis.L1Config.RollupManagerAddress, rollupIDMethod+word(e.genesis.rollupAddress()), 0)
	if err != nil {
		log.debug("error rollupManager.RollupAddressToID(%s). Error: %v", e.genesis.L1Config.RollupManagerAddress, err.Error())
	}
	e.rollupID = id
	return e, nil
}

// call returns the result's words of 32 bytes in hex. An address without a contract gives no bytes, which is an error here.
func (e *etherman) call(to, data string) ([]string, error) {
	if to == "" {
		to = noAddress
	}
	var answer string
	if err := e.client.askOne("eth_call", &answer, map[string]string{"to": to, "data": data}, "latest"); err != nil {
		return nil, err
	}
	if answer == "0x" {
		var code string
		if err := e.client.askOne("eth_getCode", &code, to, "latest"); err != nil {
			return nil, err
		}
		if code == "0x" {
			return nil, errors.New("no contract code at given address")
		}
	}
	var words []string
	for rest := strings.TrimPrefix(answer, "0x"); len(rest) >= 64; rest = rest[64:] {
		words = append(words, rest[:64])
	}
	if len(words) == 0 {
		return nil, errors.New("abi: attempting to unmarshall an empty string while arguments are expected")
	}
	return words, nil
}

// number returns one word of a result as a number.
func (e *etherman) number(to, data string, at int) (uint64, error) {
	words, err := e.call(to, data)
	if err != nil {
		return 0, err
	}
	if at >= len(words) {
		return 0, fmt.Errorf("abi: cannot marshal in to go type: length insufficient %d require %d", len(words)*32, (at+1)*32)
	}
	return strconv.ParseUint(words[at][48:], 16, 64)
}

func word(value string) string {
	digits := strings.TrimPrefix(value, "0x")
	return strings.Repeat("0", 64-len(digits)) + digits
}

func (e *etherman) dataAvailability() (string, error) {
	words, err := e.call(e.genesis.rollupAddress(), dataAvailabilityMethod)
	if err != nil {
		return "", err
	}
	return "0x" + words[0][24:], nil
}

// rollupData returns one of the numbers that the rollup manager knows of the rollup.
func (e *etherman) rollupData(at int) (uint64, error) {
	return e.number(e.genesis.L1Config.RollupManagerAddress, rollupDataMethod+word(fmt.Sprintf("%x", e.rollupID)), at)
}

// chainID returns the chain id of layer 2; that of layer 1 is never compared.
func (e *etherman) chainID() (uint64, error) {
	if e.older {
		return e.number(e.genesis.rollupAddress(), chainIDMethod, 0)
	}
	// A contract from before the rollup manager knows it itself.
	if id, err := e.number(e.genesis.L1Config.RollupManagerAddress, chainIDMethod, 0); err == nil && id != 0 {
		return id, nil
	}
	id, err := e.rollupData(1)
	if err == nil && id == 0 {
		err = errors.New("error: chainID received is 0")
	}
	return id, err
}

func (e *etherman) lastSequencedBatch() (uint64, error) {
	if e.older {
		return e.number(e.genesis.rollupAddress(), lastSequencedMethod, 0)
	}
	return e.rollupData(5)
}

func (e *etherman) lastVerifiedBatch() (uint64, error) {
	if e.older {
		return e.number(e.genesis.rollupAddress(), lastVerifiedMethod, 0)
	}
	return e.rollupData(6)
}

// checkDataAvailability reads the committee that keeps the rollup's data.
func (e *etherman) checkDataAvailability() error {
	committee, err := e.dataAvailability()
	if err != nil {
		return fmt.Errorf("error getting data availability protocol name: %v", err)
	}
	words, err := e.call(committee, protocolNameMethod)
	if err != nil {
		return fmt.Errorf("error getting data availability protocol name: %v", err)
	}
	name, err := hex.DecodeString(words[len(words)-1])
	if text := strings.TrimRight(string(name), "\x00"); err != nil || text != dataAvailabilityProtocol {
		return fmt.Errorf("unexpected / unsupported DA protocol: %s", text)
	}
	for _, method := range []string{committeeHashMethod, signaturesMethod} {
		if _, err := e.call(committee, method); err != nil {
			return err
		}
	}
	members, err := e.number(committee, amountOfMembersMethod, 0)
	for i := uint64(0); err == nil && i < members; i++ {
		_, err = e.call(committee, memberMethod+word(fmt.Sprintf("%x", i)))
	}
	return err
}

// verifyGenesisBlock requires the event of the rollup's creation in the block that the genesis file names.
func (e *etherman) verifyGenesisBlock() error {
	number := e.genesis.creationBlock()
	log.info("Verifying genesis blockNumber: %d", number)
	var logs []struct {
		Topics []string `json:"topics"`
		Data   string   `json:"data"`
	}
	filter := map[string]any{
		"fromBlock": quantity(number), "toBlock": quantity(number), "topics": [][]string{{updateVersionEvent, newRollupEvent}},
		"address": []string{e.genesis.rollupAddress(), e.genesis.L1Config.RollupManagerAddress, e.genesis.L1Config.GlobalExitRootAddress},
	}
	if err := e.client.askOne("eth_getLogs", &logs, filter); err != nil {
		return err
	}
	if len(logs) == 0 {
		return errors.New("the specified genBlockNumber in config file does not contain any forkID event. Please use the proper blockNumber.")
	}
	if len(logs[0].Topics) == 0 || logs[0].Topics[0] != newRollupEvent || len(logs[0].Data) < 66 {
		return nil
	}
	_, err := e.call(e.genesis.L1Config.RollupManagerAddress, rollupTypeMethod+logs[0].Data[2:66])
	return err
}
