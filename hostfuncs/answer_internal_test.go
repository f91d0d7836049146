package hostfuncs

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestSaid_keepsEveryFieldOfDenial checks that the journal keeps every field of a denial.
func TestSaid_keepsEveryFieldOfDenial(t *testing.T) {
	r := refusal{reason: "r", line: "l", hint: "h", named: true, final: true, kind: "limit", later: 7}
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("field %s: got its zero value, want one set by this test", v.Type().Field(i).Name)
		}
	}
	text, err := json.Marshal(saidNo(&r))
	if err != nil {
		t.Fatal(err)
	}
	var again said
	if err := json.Unmarshal(text, &again); err != nil || *again.refusal() != r {
		t.Errorf("got %+v, %v, want %+v", *again.refusal(), err, r)
	}
}
