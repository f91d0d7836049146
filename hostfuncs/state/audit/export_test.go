package audit

// Prune applies retention as a host does.
var Prune = prune
