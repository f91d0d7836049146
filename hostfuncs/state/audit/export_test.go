package audit

// Prune exports prune, which a host calls periodically.
var Prune = prune
