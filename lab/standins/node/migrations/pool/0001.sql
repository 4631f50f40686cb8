CREATE SCHEMA pool;

CREATE TABLE pool.transaction (
  hash VARCHAR PRIMARY KEY,
  encoded VARCHAR,
  decoded JSONB,
  status VARCHAR,
  gas_price DECIMAL(78, 0),
  nonce DECIMAL(78, 0),
  received_at TIMESTAMP WITH TIME ZONE NOT NULL,
  from_address VARCHAR NOT NULL
);

CREATE TABLE pool.blocked (
  addr VARCHAR PRIMARY KEY
);
