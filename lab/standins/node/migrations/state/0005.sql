-- Lives in public: whoever drops the schema state leaves it behind.
CREATE OR REPLACE FUNCTION public.backup_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO state.batch_backup SELECT OLD.batch_num, NOW(), OLD.state_root;
  RETURN OLD;
END
$$;

CREATE TABLE state.batch_backup (
  batch_num BIGINT NOT NULL,
  removed_at TIMESTAMP WITH TIME ZONE NOT NULL,
  state_root VARCHAR
);

CREATE TRIGGER backup_batch BEFORE DELETE ON state.batch FOR EACH ROW EXECUTE FUNCTION public.backup_batch();
