-- Nothing: 0005 does what this was meant to do.
SELECT 1;
