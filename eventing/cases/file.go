package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/folder"
)

// begin is when a case begins whose file does not say it.
var begin = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// File is a function with its cases.
type File struct {
	Function *definition.Function
	Cases    []Case
}

// Case is one test. Documents are by database and id, Answers by URL binding.
type Case struct {
	Name      string                                `json:"name"`
	Now       time.Time                             `json:"now"`
	Documents map[string]map[string]json.RawMessage `json:"documents"`
	Answers   map[string][]Answer                   `json:"answers"`
	Steps     []Step                                `json:"steps"`
}

// Step is one thing that happens, or that is expected then. In is a database, the function's source
// where it is empty.
type Step struct {
	Set     string          `json:"set"` // the id of a document, with Doc
	Delete  string          `json:"delete"`
	Expire  string          `json:"expire"`
	In      string          `json:"in"`
	Doc     json.RawMessage `json:"doc"`
	Advance string          `json:"advance"` // a duration as 1h30m
	Expect  *Expected       `json:"expect"`

	advance time.Duration
}

// Expected is what came out since the case began. What is nil is not looked at; of the databases
// that are named all documents are.
type Expected struct {
	Documents map[string]map[string]json.RawMessage `json:"documents"`
	Timers    json.RawMessage                       `json:"timers"`
	Log       json.RawMessage                       `json:"log"`
	Failures  json.RawMessage                       `json:"failures"`
	Calls     json.RawMessage                       `json:"calls"`
	Published json.RawMessage                       `json:"published"`
	Dead      json.RawMessage                       `json:"dead_letters"`
}

// Read reads a file of cases, and the function beside it. Unknown members are errors.
func Read(path string) (*File, error) {
	dir, base := filepath.Split(path)
	f := &File{}
	var err error
	if f.Function, err = folder.Read(dir, strings.TrimSuffix(base, folder.CasesSuffix)); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if f.Cases, err = parse(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// parse reads the text of a file of cases.
func parse(text []byte) ([]Case, error) {
	var list struct {
		Cases []Case `json:"cases"`
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&list); err != nil {
		return nil, err
	}
	if len(list.Cases) == 0 {
		return nil, errors.New("there is no case in it")
	}
	for i := range list.Cases {
		c := &list.Cases[i]
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("case %d, %q: %w", i+1, c.Name, err)
		}
	}
	return list.Cases, nil
}

// check fills what may be left out, and refuses a case that has no sense.
func (c *Case) check() error {
	if c.Now.IsZero() {
		c.Now = begin
	}
	expects := false
	for i := range c.Steps {
		if err := c.Steps[i].check(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		expects = expects || c.Steps[i].Expect != nil
	}
	if !expects {
		return errors.New("it expects nothing")
	}
	return nil
}

// check refuses a step that is not exactly one thing.
func (s *Step) check() (err error) {
	things := 0
	for _, is := range []bool{s.Set != "", s.Delete != "", s.Expire != "", s.Advance != "", s.Expect != nil} {
		if is {
			things++
		}
	}
	switch {
	case things != 1:
		return errors.New("one of set, delete, expire, advance and expect is wanted")
	case (s.Set != "") != (s.Doc != nil):
		return errors.New("set and doc go together")
	case s.Expect != nil && (s.Expect.isEmpty()):
		return errors.New("it expects nothing")
	case s.Advance != "":
		if s.advance, err = time.ParseDuration(s.Advance); err == nil && s.advance < 0 {
			err = errors.New("the clock does not go back")
		}
	}
	return err
}

func (e *Expected) isEmpty() bool {
	return len(e.Documents) == 0 && e.Timers == nil && e.Log == nil && e.Failures == nil && e.Calls == nil &&
		e.Published == nil && e.Dead == nil
}
