// The tests of a bundle, run by Node. Its argument is the bundle.
const log = console.log;
console.log = console.warn = console.error = () => {};
await import(process.argv[2]);
const outcome = await globalThis.tests();
log(JSON.stringify(outcome));
