-- Hosts take over an approval at its commit.
CREATE TRIGGER lock_woken AFTER INSERT OR UPDATE ON records FOR EACH ROW WHEN (new.kind = 'lock'::bytea) EXECUTE FUNCTION woken('lock');
