module rpc-lab/node

go 1.19

require (
	github.com/BurntSushi/toml v1.2.0
	github.com/gorilla/websocket v1.5.0
	github.com/lib/pq v1.10.7
)
