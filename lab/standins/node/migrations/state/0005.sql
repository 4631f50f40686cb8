-- Events have a database of their own.
DROP TABLE state.event, state.debug;
