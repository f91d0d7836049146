import "vitest/globals.js";
import { run } from "vitest";
import "./own/ajv/spec/options/comment.spec.ts";
import "./own/ajv/spec/options/nullable.spec.ts";
import "./own/ajv/spec/options/removeAdditional.spec.ts";
import "./own/ajv/spec/issues/1001_addKeyword_and_schema_without_id.spec.ts";
import "./own/ajv/spec/issues/182_nan_validation.spec.ts";
import "./own/ajv/spec/issues/485_type_validation_priority.spec.ts";
import "./own/ajv/spec/issues/743_removeAdditional_to_remove_proto.spec.ts";
import "./own/ajv/spec/issues/815_id_updates_ref_base.spec.ts";
import { tool } from "sallyport";

tool("tests", "", run);
