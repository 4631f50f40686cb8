module rpc-lab/outside

go 1.19
