package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// envPrefix is the prefix of environment variables that override the file: ZKEVM_NODE_STATE_DB_HOST.
const envPrefix = "ZKEVM_NODE"

// Config has the keys that the stand-in uses, and those that it only reads so that a wrong value is as fatal as in the real node.
type Config struct {
	IsTrustedSequencer bool
	Log                LogConfig
	Synchronizer       SynchronizerConfig
	Etherman           struct {
		URL              string
		ForkIDChunkSize  uint64
		MultiGasProvider bool
	}
	RPC   RPCConfig
	State struct {
		DB    DBConfig
		Batch struct{ Constraints Constraints }
	}
	StateDB DBConfig
	HashDB  DBConfig
	Pool    PoolConfig
	Metrics struct {
		Host             string
		Port             int
		Enabled          bool
		ProfilingHost    string
		ProfilingPort    int
		ProfilingEnabled bool
	}
	MTClient struct{ URI string }
	Executor struct {
		URI                          string
		MaxResourceExhaustedAttempts int
		WaitOnResourceExhaustion     Duration
		MaxGRPCMessageSize           int
	}
}

type LogConfig struct {
	Environment string
	Level       string
	Outputs     []string
}

type DBConfig struct {
	User, Password, Name, Host, Port string
	EnableLog                        bool
	MaxConns                         int
}

type SynchronizerConfig struct {
	SyncInterval              Duration
	SyncChunkSize             uint64
	SyncOnlyTrusted           bool
	TrustedSequencerURL       string
	L1SynchronizationMode     string
	UpgradeEtrogBatchNumber   uint64
	L1ParallelSynchronization struct {
		MaxClients                             uint64
		MaxPendingNoProcessedBlocks            uint64
		RequestLastBlockPeriod                 Duration
		RequestLastBlockTimeout                Duration
		RequestLastBlockMaxRetries             int
		StatisticsPeriod                       Duration
		TimeoutMainLoop                        Duration
		RollupInfoRetriesSpacing               Duration
		FallbackToSequentialModeOnSynchronized bool
		PerformanceWarning                     struct {
			AceptableInacctivityTime    Duration
			ApplyAfterNumRollupReceived int
		}
	}
}

type RPCConfig struct {
	Host                             string
	Port                             int
	ReadTimeout                      Duration
	WriteTimeout                     Duration
	MaxRequestsPerIPAndSecond        float64
	SequencerNodeURI                 string
	EnableL2SuggestedGasPricePolling bool
	TraceBatchUseHTTPS               bool
	BatchRequestsEnabled             bool
	BatchRequestsLimit               uint
	WebSockets                       struct {
		Enabled   bool
		Host      string
		Port      int
		ReadLimit int64
	}
}

type PoolConfig struct {
	FreeClaimGasLimit                 uint64
	IntervalToRefreshBlockedAddresses Duration
	IntervalToRefreshGasPrices        Duration
	MaxTxBytesSize                    uint64
	MaxTxDataBytesSize                int
	DefaultMinGasPriceAllowed         uint64
	MinAllowedGasPriceInterval        Duration
	PollMinAllowedGasPriceInterval    Duration
	AccountQueue                      uint64
	GlobalQueue                       uint64
	EffectiveGasPrice                 struct {
		Enabled                     bool
		L1GasPriceFactor            float64
		ByteGasCost                 uint64
		ZeroByteGasCost             uint64
		NetProfit                   float64
		BreakEvenFactor             float64
		FinalDeviationPct           uint64
		EthTransferGasPrice         uint64
		EthTransferL1GasPriceFactor float64
		L2GasPriceSuggesterFactor   float64
	}
	DB DBConfig
}

type Constraints struct {
	MaxTxsPerBatch       uint64
	MaxBatchBytesSize    uint64
	MaxCumulativeGasUsed uint64
	MaxKeccakHashes      uint32
	MaxPoseidonHashes    uint32
	MaxPoseidonPaddings  uint32
	MaxMemAligns         uint32
	MaxArithmetics       uint32
	MaxBinaries          uint32
	MaxSteps             uint32
	MaxSHA256Hashes      uint32
}

// Duration has a unit: 5s. A bare number is fatal.
type Duration struct{ time.Duration }

// defaultConfig has the values for keys that the file does not set, or without a file.
func defaultConfig() Config {
	database := func(user, password, name, host string) DBConfig {
		return DBConfig{User: user, Password: password, Name: name, Host: host, Port: "5432", MaxConns: 200}
	}
	var c Config
	c.Log = LogConfig{Environment: "development", Level: "info", Outputs: []string{"stderr"}}
	c.State.DB = database("state_user", "state_password", "state_db", "zkevm-state-db")
	c.StateDB = c.State.DB
	c.HashDB = database("prover_user", "prover_pass", "prover_db", "zkevm-state-db")
	c.Pool.DB = database("pool_user", "pool_password", "pool_db", "zkevm-pool-db")
	c.Synchronizer.SyncInterval = Duration{time.Second}
	c.Synchronizer.SyncChunkSize = 100
	c.Synchronizer.L1SynchronizationMode = "sequential"
	c.Etherman.URL = "http://localhost:8545"
	c.RPC.Host = "0.0.0.0"
	c.RPC.Port = 8545
	c.RPC.ReadTimeout = Duration{time.Minute}
	c.RPC.WriteTimeout = Duration{time.Minute}
	c.RPC.MaxRequestsPerIPAndSecond = 500
	c.RPC.BatchRequestsLimit = 20
	c.RPC.WebSockets.Enabled = true
	c.RPC.WebSockets.Host = "0.0.0.0"
	c.RPC.WebSockets.Port = 8546
	c.RPC.WebSockets.ReadLimit = 104857600
	c.Metrics.Host = "0.0.0.0"
	c.Metrics.Port = 9091
	c.MTClient.URI = "zkevm-prover:50061"
	c.Executor.URI = "zkevm-prover:50071"
	return c
}

// loadConfig reads a configuration file over the defaults. Unknown keys are silently ignored, and so is a
// missing file; a path without a folder counts as missing.
func loadConfig(own generation, path string) (Config, error) {
	c := defaultConfig()
	values, err := readConfigFile(path)
	if err != nil {
		return c, err
	}
	if err := decodeConfig(&c, values, os.LookupEnv); err != nil {
		return c, err
	}
	if own.isOlder {
		c.State.DB = c.StateDB
	}
	return c, nil
}

func readConfigFile(path string) (map[string]any, error) {
	folder, name := filepath.Split(path)
	if folder == "" {
		return nil, nil
	}
	content, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	switch extension := strings.TrimPrefix(filepath.Ext(name), "."); extension {
	case "toml":
		err = toml.Unmarshal(content, &values)
	case "json":
		err = json.Unmarshal(content, &values)
	default:
		return nil, fmt.Errorf("Unsupported Config Type %q", extension)
	}
	if err != nil {
		return nil, fmt.Errorf("While parsing config: %w", err)
	}
	return values, nil
}
