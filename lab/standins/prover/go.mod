module rpc-lab/prover

go 1.19
