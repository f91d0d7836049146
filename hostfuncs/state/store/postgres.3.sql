-- Heads of audit logs stay until they expire, and only grow: the role of the hosts can neither remove one nor set it back.
CREATE FUNCTION head_kept() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	was BIGINT;
	now BIGINT;
BEGIN
	IF TG_OP = 'DELETE' THEN
		IF old.expires > extract(epoch FROM clock_timestamp()) * 1000 THEN
			RETURN NULL;
		END IF;
		RETURN old;
	END IF;
	was := split_part(convert_from(old.data, 'UTF8'), '/', 1)::bigint;
	now := split_part(convert_from(new.data, 'UTF8'), '/', 1)::bigint;
	IF (new.kind, new.id, new.principal) IS DISTINCT FROM (old.kind, old.id, old.principal) OR now < was OR now = was AND new.data <> old.data THEN
		RAISE EXCEPTION 'the head of an audit log cannot be set back';
	END IF;
	new.expires := greatest(new.expires, old.expires);
	RETURN new;
END $$;
CREATE TRIGGER head_kept BEFORE UPDATE OR DELETE ON records FOR EACH ROW WHEN (old.kind = 'head'::bytea) EXECUTE FUNCTION head_kept();
