-- Roles of least privilege for the setting `store`. Run it once as a superuser, in the database of Sallyport:
--
--	psql -d sallyport -f docs/postgres.sql
--
-- sallyport_owner owns the tables, and is used once for each version that brings a new schema:
--
--	SALLYPORT_STORE='postgres://sallyport_owner@HOST/sallyport' sallyport doctor
--
-- sallyport is the role of the hosts: it reads and changes rows, and can neither make nor drop a table.
CREATE ROLE sallyport_owner LOGIN;
CREATE ROLE sallyport LOGIN;
CREATE SCHEMA sallyport AUTHORIZATION sallyport_owner;
ALTER ROLE sallyport_owner SET search_path = sallyport;
ALTER ROLE sallyport SET search_path = sallyport;
GRANT USAGE ON SCHEMA sallyport TO sallyport;
ALTER DEFAULT PRIVILEGES FOR ROLE sallyport_owner IN SCHEMA sallyport GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO sallyport;
ALTER DEFAULT PRIVILEGES FOR ROLE sallyport_owner IN SCHEMA sallyport GRANT USAGE ON SEQUENCES TO sallyport;
