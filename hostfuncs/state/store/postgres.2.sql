-- Hosts that serve a session are woken at each change of it, with its ID, which is that of its events and mail up to the slash.
CREATE FUNCTION session_woken() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	changed records := CASE WHEN TG_OP = 'DELETE' THEN old ELSE new END;
BEGIN
	PERFORM pg_notify('sallyport', convert_from(changed.kind, 'UTF8') || ' ' || split_part(convert_from(changed.id, 'UTF8'), '/', 1));
	RETURN NULL;
END $$;
CREATE TRIGGER sessions_woken AFTER INSERT OR UPDATE ON records FOR EACH ROW
	WHEN (new.kind IN ('session'::bytea, 'event'::bytea, 'mail'::bytea)) EXECUTE FUNCTION session_woken();
CREATE TRIGGER sessions_ended AFTER DELETE ON records FOR EACH ROW WHEN (old.kind = 'session'::bytea) EXECUTE FUNCTION session_woken();
