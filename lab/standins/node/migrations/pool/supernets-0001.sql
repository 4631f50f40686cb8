-- Who may send transactions and deploy contracts. The current generation has it under another name.
CREATE TABLE pool.policy (
  name VARCHAR PRIMARY KEY,
  allow BOOLEAN NOT NULL DEFAULT FALSE
);
INSERT INTO pool.policy VALUES ('send_tx', TRUE), ('deploy', TRUE);

CREATE TABLE pool.acl (
  address VARCHAR,
  policy VARCHAR,
  PRIMARY KEY (address, policy)
);
