package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/settee-db/settee/eventing/definition"
)

// CasesSuffix is how the name of a file with the tests of a function goes on behind the function's:
// mask.test.json has those of mask.json and mask.js.
const CasesSuffix = ".test.json"

// file is the definition of a function as its file has it: without the code, without what the server
// gives, and without what it would have anyway.
type file struct {
	Name          string                     `json:"appname"`
	Scope         *definition.Scope          `json:"function_scope,omitempty"`
	EnforceSchema bool                       `json:"enforce_schema,omitempty"`
	Bindings      definition.Bindings        `json:"depcfg"`
	Settings      map[string]json.RawMessage `json:"settings"`
}

// base is the name of a function's files, without the ends.
func base(f *definition.Function) string {
	if f.Scope == definition.Global {
		return f.Name
	}
	return f.Name + "@" + f.Scope.Bucket
}

// Names are the functions in a directory, by the names of their files without the end.
func Names(dir string) (names []string, err error) {
	all, err := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, path := range all {
		if !strings.HasSuffix(path, CasesSuffix) {
			names = append(names, strings.TrimSuffix(filepath.Base(path), ".json"))
		}
	}
	if err == nil && names == nil {
		err = fmt.Errorf("%s: there is no file NAME.json", dir)
	}
	return names, err
}

// Read reads the function whose files have a name: the code is in NAME.js, or in the definition
// where there is no such file. What is in the files is checked as servers check it.
func Read(dir, name string) (*definition.Function, error) {
	path := filepath.Join(dir, name+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	code, err := os.ReadFile(filepath.Join(dir, name+".js"))
	switch {
	case err == nil && members["appcode"] != nil:
		return nil, fmt.Errorf("%s has appcode, and there is %s.js", path, name)
	case err == nil:
		members["appcode"], err = json.Marshal(string(code))
	case errors.Is(err, os.ErrNotExist) && members["appcode"] != nil:
		err = nil
	}
	if err == nil {
		text, err = json.Marshal(members)
	}
	if err != nil {
		return nil, err
	}
	f, err := definition.Parse(text, definition.ParseOptions{MaxCode: definition.MostCodeSize})
	switch {
	case err != nil:
	case base(f) != name:
		err = fmt.Errorf("the function in it belongs into %s.json", base(f))
	case f.Unknown() != nil:
		err = fmt.Errorf("functions and their settings have no %s", strings.Join(f.Unknown(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Write writes a function into its two files. They may be read by their owner alone, because
// constants may be secrets, too.
func Write(dir string, f *definition.Function) error {
	text, err := fileOf(f)
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(dir, base(f)+".json"), append(text, '\n'), 0o600)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, base(f)+".js"), []byte(f.Code), 0o600)
	}
	return err
}

// fileOf is the text of a function's definition, with masks in the places of secrets.
func fileOf(f *definition.Function) ([]byte, error) {
	settings, err := changedSettings(&f.Settings)
	if err != nil {
		return nil, err
	}
	out := file{Name: f.Name, EnforceSchema: f.EnforceSchema, Bindings: f.Masked().Bindings, Settings: settings}
	if f.Scope != definition.Global {
		out.Scope = &f.Scope
	}
	return definition.JSON(out)
}

// changedSettings are the settings that are not as they are by default.
func changedSettings(s *definition.Settings) (map[string]json.RawMessage, error) {
	usual, all := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for to, of := range map[*map[string]json.RawMessage]definition.Settings{
		&usual: definition.DefaultSettings(), &all: *s,
	} {
		text, err := json.Marshal(of)
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			return nil, err
		}
	}
	for name, value := range usual {
		if slices.Equal(all[name], value) {
			delete(all, name)
		}
	}
	return all, nil
}

// Diff tells how two texts differ, line by line, as diff -u does; "" where they are the same.
func Diff(before, after, nameBefore, nameAfter string) string {
	text, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{ // writing into memory does not fail
		A: difflib.SplitLines(before), B: difflib.SplitLines(after),
		FromFile: nameBefore, ToFile: nameAfter, Context: 2,
	})
	return text
}
