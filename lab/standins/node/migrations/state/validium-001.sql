CREATE TABLE IF NOT EXISTS state.batch_data_backup (
  batch_num BIGINT,
  data BYTEA,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (batch_num, created_at)
);

-- Lives in public: whoever drops the schema state leaves it behind.
CREATE OR REPLACE FUNCTION public.backup_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO state.batch_data_backup (batch_num, data) VALUES (OLD.batch_num, OLD.raw_txs_data)
  ON CONFLICT (batch_num, created_at) DO UPDATE SET data = EXCLUDED.data;
  RETURN OLD;
END
$$;

CREATE TRIGGER backup_batch BEFORE DELETE ON state.batch FOR EACH ROW EXECUTE FUNCTION public.backup_batch();
