package config

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/ini.v1"
)

// values is section → key → value.
type values map[string]map[string]string

func (v values) set(section, key, value string) {
	if v[section] == nil {
		v[section] = make(map[string]string)
	}
	v[section][key] = value
}

func (v values) remove(section, key string) {
	delete(v[section], key)
	if len(v[section]) == 0 {
		delete(v, section)
	}
}

// clone copies v with one more entry's room in the given section, so that readers of v never see a change.
func (v values) clone() values {
	c := make(values, len(v)+1)
	for section, keys := range v {
		m := make(map[string]string, len(keys)+1)
		for k, val := range keys {
			m[k] = val
		}
		c[section] = m
	}
	return c
}

// loadOptions make the ini library read CouchDB's dialect: = is the only delimiter, quotes and back-slashes are part of the
// value, sections and keys are case-sensitive.
var loadOptions = ini.LoadOptions{
	KeyValueDelimiters:      "=",
	IgnoreContinuation:      true,
	IgnoreInlineComment:     true,
	PreserveSurroundedQuote: true,
	SkipUnrecognizableLines: true,
}

// readINI adds the settings of an ini text to v. Empty values are skipped: in CouchDB's files they unset a key.
func readINI(v values, text []byte) error {
	file, err := ini.LoadSources(loadOptions, text)
	if err != nil {
		return err
	}
	for _, section := range file.Sections() {
		for _, key := range section.Keys() {
			name, value := key.Name(), stripComment(key.Value())
			if value == "" {
				v.remove(section.Name(), name)
				continue
			}
			v.set(section.Name(), name, value)
		}
	}
	return nil
}

// stripComment cuts an in-line comment, which CouchDB begins with a semicolon after white space (config:remove_comments).
func stripComment(value string) string {
	for _, mark := range []string{" ;", "\t;"} {
		if i := strings.Index(value, mark); i >= 0 {
			value = value[:i]
		}
	}
	return strings.TrimSpace(value)
}

// editINI returns text with the key set to value, or without the key when value is nil. All other lines stay as they are,
// as in CouchDB's config_writer.
func editINI(text []byte, section, key string, value *string) []byte {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		lines = nil
	}
	var out []string
	inSection, done := false, false
	add := func() {
		if value != nil && !done {
			out = append(trimBlank(out), key+" = "+*value)
		}
		done = true
	}
	for _, line := range lines {
		t := strings.TrimSpace(line)
		isHeader := strings.HasPrefix(t, "[") && strings.HasSuffix(t, "]")
		if isHeader {
			if inSection && !done {
				add()
				out = append(out, "")
			}
			inSection = t == "["+section+"]"
		} else if name, _, found := strings.Cut(t, "="); inSection && found && strings.TrimSpace(name) == key {
			add()
			continue
		}
		out = append(out, line)
	}
	if !done && value != nil {
		if !inSection {
			out = trimBlank(out)
			if len(out) > 0 {
				out = append(out, "")
			}
			out = append(out, "["+section+"]")
		}
		add()
	}
	return []byte(strings.Join(out, "\n") + "\n")
}

// trimBlank drops the empty lines at the end.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// writeFile replaces a file in one step, so that a crash leaves the old or the new text. A file that cannot be replaced, as one
// that a container mounts by itself, is overwritten. It may hold password hashes and the cookie secret: only the owner can read a
// new one; an existing one keeps its mode.
func writeFile(path string, text []byte) error {
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
			return nil
		}
	}
	if replaceFile(path, text, mode) == nil {
		return nil
	}
	return os.WriteFile(path, text, mode)
}

func replaceFile(path string, text []byte, mode os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".config-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err = tmp.Write(text); err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
