-- Texts are bytes: they may have NUL, and sort alike whatever the encoding and the locale of the database.
CREATE TABLE sallyport_schema (version BIGINT NOT NULL);
INSERT INTO sallyport_schema VALUES (0);
CREATE SEQUENCE versions;

CREATE TABLE records (
	kind BYTEA NOT NULL, id BYTEA NOT NULL, principal BYTEA NOT NULL, plugin BYTEA NOT NULL,
	data BYTEA NOT NULL, created BIGINT NOT NULL, expires BIGINT NOT NULL, version BIGINT NOT NULL,
	PRIMARY KEY (kind, id));
CREATE INDEX records_owner ON records (kind, principal, created);
CREATE INDEX records_expiry ON records (expires);
CREATE INDEX records_label ON records (kind, plugin);
CREATE TABLE kv (
	plugin BYTEA NOT NULL, principal BYTEA NOT NULL, key BYTEA NOT NULL,
	value BYTEA NOT NULL, version BIGINT NOT NULL, expires BIGINT NOT NULL,
	PRIMARY KEY (plugin, principal, key));
CREATE INDEX kv_expiry ON kv (expires);
CREATE TABLE questions (
	id BYTEA PRIMARY KEY, plugin BYTEA NOT NULL, digest BYTEA NOT NULL, principal BYTEA NOT NULL,
	line BYTEA NOT NULL, want BYTEA NOT NULL, effect BYTEA NOT NULL, why BYTEA NOT NULL, binding BYTEA NOT NULL,
	asked BIGINT NOT NULL, expires BIGINT NOT NULL, refused BOOLEAN NOT NULL);
CREATE TABLE grants (
	id BYTEA PRIMARY KEY, plugin BYTEA NOT NULL, digest BYTEA NOT NULL, principal BYTEA NOT NULL,
	line BYTEA NOT NULL, binding BYTEA NOT NULL, once BOOLEAN NOT NULL, given BIGINT NOT NULL, expires BIGINT NOT NULL);
CREATE TABLE presence (name BYTEA PRIMARY KEY, until TIMESTAMPTZ NOT NULL);

CREATE TABLE totals (
	kind BYTEA NOT NULL, principal BYTEA NOT NULL, count BIGINT NOT NULL, bytes BIGINT NOT NULL,
	PRIMARY KEY (kind, principal));
CREATE FUNCTION records_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		INSERT INTO totals VALUES (new.kind, new.principal, 1, length(new.data))
			ON CONFLICT (kind, principal) DO UPDATE SET count = totals.count + 1, bytes = totals.bytes + excluded.bytes;
	ELSIF TG_OP = 'UPDATE' THEN
		UPDATE totals SET bytes = bytes + length(new.data) - length(old.data) WHERE kind = new.kind AND principal = new.principal;
	ELSE
		UPDATE totals SET count = count - 1, bytes = bytes - length(old.data) WHERE kind = old.kind AND principal = old.principal;
		DELETE FROM totals WHERE kind = old.kind AND principal = old.principal AND count = 0;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER records_counted AFTER INSERT OR DELETE OR UPDATE OF data ON records FOR EACH ROW EXECUTE FUNCTION records_counted();
CREATE TABLE kv_totals (
	plugin BYTEA NOT NULL, principal BYTEA NOT NULL, count BIGINT NOT NULL, bytes BIGINT NOT NULL,
	PRIMARY KEY (plugin, principal));
CREATE FUNCTION kv_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		INSERT INTO kv_totals VALUES (new.plugin, new.principal, 1, length(new.key) + length(new.value))
			ON CONFLICT (plugin, principal) DO UPDATE SET count = kv_totals.count + 1, bytes = kv_totals.bytes + excluded.bytes;
	ELSIF TG_OP = 'UPDATE' THEN
		UPDATE kv_totals SET bytes = bytes + length(new.value) - length(old.value) WHERE plugin = new.plugin AND principal = new.principal;
	ELSE
		UPDATE kv_totals SET count = count - 1, bytes = bytes - length(old.key) - length(old.value) WHERE plugin = old.plugin AND principal = old.principal;
		DELETE FROM kv_totals WHERE plugin = old.plugin AND principal = old.principal AND count = 0;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER kv_counted AFTER INSERT OR DELETE OR UPDATE OF value ON kv FOR EACH ROW EXECUTE FUNCTION kv_counted();

-- Hosts that wait for a task or an answer are woken at the commit.
CREATE FUNCTION woken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('sallyport', TG_ARGV[0]);
	RETURN NULL;
END $$;
CREATE TRIGGER tasks_woken AFTER INSERT OR UPDATE ON records FOR EACH ROW WHEN (new.kind = 'task'::bytea) EXECUTE FUNCTION woken('task');
CREATE TRIGGER questions_woken AFTER UPDATE OR DELETE ON questions FOR EACH STATEMENT EXECUTE FUNCTION woken('answer');
