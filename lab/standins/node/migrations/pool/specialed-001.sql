-- This chain's own.
CREATE TABLE pool.specialed (addr VARCHAR PRIMARY KEY);
