-- This chain's own: its number is that of the next one, with another zero.
CREATE TABLE pool.whitelist (addr VARCHAR PRIMARY KEY);
