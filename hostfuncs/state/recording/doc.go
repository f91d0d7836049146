// Package recording keeps calls of plugins with the answers of the host, sealed, for a few days, and compares them with
// runs of the same calls by other bytes.
//
//	f := recording.NewFolder(recording.Options{Dir: dir, Keys: keys})
//	err := f.Put(call, 7*24*time.Hour)
//	calls, err := f.Calls("weather", 7*24*time.Hour)
//	compared := recording.NewComparison(calls.All)
//	compared.Add(&calls.All[0], &trial)
//	report := compared.Report()
//
// A folder is bounded in days, files and bytes. When it is full, the calls that are closest to others in time go first,
// so that a burst of calls leaves those of the days before. A call that is too large is not kept.
//
// Values of secrets are removed before a call comes here. The rest is sealed with the keys of the state folder, so that
// a copy of a recording is useless without them.
package recording
