package main

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// ask calls a JSON-RPC server, and returns the result or the error's message.
func ask(t *testing.T, server http.Handler, method string, params ...any) string {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body))))
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		return recorder.Body.String()
	}
	if answer.Error != nil {
		return answer.Error.Message
	}
	return string(answer.Result)
}

// The genesis block of Ethereum's main network, in the same encoding without the base fee.
func TestHeaderIsEncodedAsEthereumHashesIt(t *testing.T) {
	zero := func(bytes int) []byte { return make([]byte, bytes) }
	hash := keccak(rlpList(zero(32), fromHex(noUncles), zero(20),
		fromHex("0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544"), fromHex(noTransactions), fromHex(noTransactions),
		zero(256), shortest(17179869184), nil, shortest(5000), nil, nil,
		fromHex("0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa"), zero(32), fromHex("0x0000000000000042")))
	if hex.EncodeToString(hash[:]) != "d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3" {
		t.Errorf("%x", hash)
	}
}

func TestLayer1IsAChainThatAnotherHistoryLeaves(t *testing.T) {
	l := newLayer1()
	before, _ := l.hash(layer1First + 9)
	own, parent := l.hash(layer1First + 10)
	if parent != before || own == before {
		t.Error("the parent's hash is not the hash of the block before it")
	}
	l.fork(layer1First + 10)
	if same, _ := l.hash(layer1First + 9); same != before {
		t.Error("the fork changes a block before it")
	}
	if other, _ := l.hash(layer1First + 10); other == own {
		t.Error("the fork changes nothing")
	}
	l.fork(0)
	if again, _ := l.hash(layer1First + 10); again != own {
		t.Error("the fork does not end")
	}
}

func TestHeadOfLayer1FollowsTheClock(t *testing.T) {
	now := time.Unix(layer1Start+10*layer1BlockTime+1, 0)
	if head := layer1Head(now); head != layer1First+10 || layer1Time(head) > now.Unix() {
		t.Error(head)
	}
	if layer1Head(time.Unix(0, 0)) != layer1First {
		t.Error("a clock that is wrong")
	}
}

func TestContractsAnswerTheNode(t *testing.T) {
	l := newLayer1()
	call := func(to, data string) string {
		return ask(t, l.handler(), "eth_call", map[string]any{"to": to, "data": data}, "latest")
	}
	rollupWord := strings.Repeat("0", 24) + rollup[2:]
	for _, one := range []struct{ to, data, answer string }{
		{rollup, selector("dataAvailabilityProtocol()"), `"0x` + strings.Repeat("0", 24) + committee[2:] + `"`},
		{rollupManager, selector("rollupAddressToID(address)") + rollupWord, `"` + number256(1) + `"`},
		{rollupManager, selector("rollupAddressToID(address)") + number256(7)[2:], `"` + number256(0) + `"`},
		{rollupManager, selector("chainID()"), "execution reverted"},
		{committee, selector("requiredAmountOfSignatures()"), `"` + number256(1) + `"`},
		{"0x" + strings.Repeat("1", 40), selector("chainID()"), `"0x"`},
	} {
		if answer := call(one.to, one.data); answer != one.answer {
			t.Errorf("%s of %s: %s", one.data, one.to, answer)
		}
	}
	data := call(rollupManager, selector("rollupIDToRollupData(uint32)")+number256(rollupID)[2:])
	if len(data) != 12*64+4 || !strings.HasPrefix(data[3+64:], number256(chainID)[2:]) {
		t.Error(data)
	}
	name := call(committee, selector("getProcotolName()"))
	if !strings.Contains(name, hex.EncodeToString([]byte("DataAvailabilityCommittee"))) || len(name) != 3*64+4 {
		t.Error(name)
	}
	l.setChainID(1)
	if answer := call(rollup, selector("dataAvailabilityProtocol()")); answer != `"0x"` || ask(t, l.handler(), "eth_chainId") != `"0x1"` {
		t.Errorf("a contract on another chain: %s", answer)
	}
}

func TestCreationOfTheRollupIsInTheLogOfItsBlock(t *testing.T) {
	l := newLayer1()
	logs := func(from, to uint64) string {
		return ask(t, l.handler(), "eth_getLogs", map[string]any{
			"fromBlock": hexadecimal(from), "toBlock": hexadecimal(to), "address": []string{rollup, rollupManager},
			"topics": [][]string{{topic("UpdateZkEVMVersion(uint64,uint64,string)"), topic("CreateNewRollup(uint32,uint32,address,uint64,address)")}},
		})
	}
	if found := logs(rollupCreated, rollupCreated); !strings.Contains(found, rollupManager) {
		t.Error(found)
	}
	if logs(rollupCreated+1, rollupCreated+9) != "[]" {
		t.Error("an event in a block without one")
	}
	l.fork(rollupCreated)
	if logs(rollupCreated, rollupCreated) != "[]" {
		t.Error("another history has the event")
	}
}

func TestContractsAreThoseOfTheGenesisFiles(t *testing.T) {
	for file, wanted := range map[string][]string{
		"www/genesis.json":       {rollup, rollupManager, `"rollupCreationBlockNumber": 4789190`},
		"www/genesis_older.json": {rollup, committee, `"genesisBlockNumber": 4789190`},
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range wanted {
			if !strings.Contains(string(content), one) {
				t.Errorf("%s lacks %s", file, one)
			}
		}
	}
}

func TestServerFailsOnDemand(t *testing.T) {
	f := &failing{server: newLayer1().handler()}
	for status, answer := range map[int64]string{0: `"0xd903"`, 200: "the lab makes this server fail", 429: "Too Many Requests\n"} {
		f.set(status)
		if got := ask(t, f, "eth_chainId"); got != answer {
			t.Errorf("%d: %q", status, got)
		}
	}
}

func TestBatchHasItsBlocks(t *testing.T) {
	c := chain{SnapshotTime: 1_700_000_000, Started: 1_700_000_000 + margin}
	open := c.batch(403, 4025, false)
	if open["closed"] != false || len(open["blocks"].([]any)) != 5 || open["blocks"].([]any)[4] != c.hash(4025) {
		t.Errorf("%+v", open)
	}
	if whole := c.batch(402, 4025, true); whole["closed"] != true || len(whole["blocks"].([]any)) != 10 || whole["stateRoot"] != c.stateRoot(4020) {
		t.Errorf("%+v", whole)
	}
}
