// The tests of date-fns find the expect of chai.
import "vitest/globals.js";
import { expect } from "chai";

globalThis.expect = expect;
