package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// rpcClient calls another server (trusted sequencer, layer 1) by JSON-RPC.
type rpcClient struct {
	url  string
	http *http.Client
}

func newRPCClient(url string) *rpcClient {
	return &rpcClient{url: url, http: &http.Client{Timeout: 30 * time.Second}}
}

// question is one call; its answer is decoded into result.
type question struct {
	method string
	params []any
	result any
}

type rpcCall struct {
	Version string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  []any  `json:"params"`
}

type rpcAnswer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// ask sends all questions in one batch.
func (c *rpcClient) ask(questions ...question) error {
	calls := make([]rpcCall, len(questions))
	for i, q := range questions {
		params := q.params
		if params == nil {
			params = []any{}
		}
		calls[i] = rpcCall{"2.0", i, q.method, params}
	}
	body, err := json.Marshal(calls)
	if err != nil {
		return err
	}
	content, err := c.post(body)
	if err != nil {
		return err
	}
	var answers []rpcAnswer
	if err := json.Unmarshal(content, &answers); err != nil {
		return fmt.Errorf("%s: no JSON-RPC answer: %w", c.url, err)
	}
	if len(answers) != len(questions) {
		return fmt.Errorf("%s: %d answers to %d questions", c.url, len(answers), len(questions))
	}
	for _, answer := range answers {
		if answer.ID < 0 || answer.ID >= len(questions) {
			return fmt.Errorf("%s: an answer to nothing asked, id %d", c.url, answer.ID)
		}
		q := questions[answer.ID]
		if answer.Error != nil {
			return fmt.Errorf("%s: %s", q.method, answer.Error.Message)
		}
		if err := json.Unmarshal(answer.Result, q.result); err != nil {
			return fmt.Errorf("%s: %w", q.method, err)
		}
	}
	return nil
}

// askOne sends one question that is not part of a batch.
func (c *rpcClient) askOne(method string, result any, params ...any) error {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(rpcCall{"2.0", 1, method, params})
	if err != nil {
		return err
	}
	content, err := c.post(body)
	if err != nil {
		return err
	}
	var answer rpcAnswer
	if err := json.Unmarshal(content, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return answer.Error
	}
	return json.Unmarshal(answer.Result, result)
}

// post returns the body of an answer; errors have the words of Go's own HTTP client, as in the real program.
func (c *rpcClient) post(body []byte) ([]byte, error) {
	response, err := c.http.Post(c.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", response.Status, bytes.TrimSpace(content))
	}
	return content, err
}

// quantity is a number in JSON-RPC notation: 0x and hexadecimal digits.
type quantity uint64

func (q quantity) MarshalJSON() ([]byte, error) {
	return []byte(fmt.Sprintf(`"0x%x"`, uint64(q))), nil
}

func (q *quantity) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	*q = quantity(number)
	return err
}
