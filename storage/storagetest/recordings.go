package storagetest

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Scenario is a sequence of requests with the answers of a CouchDB 3.5.0, as package conformance
// has recorded them.
type Scenario struct {
	Name  string
	Steps []Step
}

// Step is a request and what was answered.
type Step struct {
	Do      string          // method, a blank and the path, in which $db stands for a database
	Auth    json.RawMessage // who asks
	JSON    json.RawMessage // the body, or
	Text    string          // one that is no JSON
	Headers map[string]string
	Save    map[string]string // names for what later steps take from the answer
	Expect  Answer
}

// Answer is what a CouchDB answered; the zero value where that was not recorded.
type Answer struct {
	Status int
	Body   string
}

// Recordings reads conformance/testdata/NAME.json from whichever package the test is in.
func Recordings(t T, name string) []Scenario {
	t.Helper()
	dir := "."
	for !isRoot(dir) {
		dir = filepath.Join(dir, "..")
	}
	text, err := os.ReadFile(filepath.Join(dir, "conformance", "testdata", name+".json"))
	Must(t, err)
	var file struct{ Scenarios []Scenario }
	Must(t, json.Unmarshal(text, &file))
	return file.Scenarios
}

// isRoot reports whether a folder is the module's, or there is none above it.
func isRoot(dir string) bool {
	if path, err := filepath.Abs(dir); err != nil || path == filepath.Dir(path) {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
