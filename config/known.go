package config

import (
	"slices"
	"sort"
	"strings"
)

// The kinds of Known.Origin: where the value in force is from.
const (
	OriginDefault     = "default"     // what is built in
	OriginFile        = "file"        // of the path Known.From
	OriginEnvironment = "environment" // of the variable Known.From
	OriginStore       = "store"       // what the processes on a store share
	OriginMemory      = "memory"      // set and not written: over HTTP, by a flag, or made by the server
)

// Known is a setting as people see it: what is in force, where that is from and what it means.
type Known struct {
	Section string `json:"section"`
	Key     string `json:"key"` // "": the row says what any key of the section means
	Value   string `json:"value"`
	Default string `json:"default"`
	Origin  string `json:"origin"`         // of the kinds above
	From    string `json:"from,omitempty"` // the file or the variable
	Means   string `json:"means"`          // "" for a setting that nobody knows
	Restart bool   `json:"restart"`        // a change counts after a new start only
	Effect  bool   `json:"effect"`         // false: it can be set and read back, and does nothing
	Secret  bool   `json:"secret"`         // Value is a mask
	Fixed   bool   `json:"fixed"`          // the API must not change it
}

// mask stands for a secret that is there.
const mask = "********"

// Known are all settings of the table, those that are set besides, and CouchDB's that have no
// effect, by section and key. Secrets are masked.
func (c *Config) Known() []Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make(map[[2]string]bool)
	for _, s := range Settings {
		names[[2]string{s.Section, s.Key}] = true
	}
	for _, s := range Ignored {
		if s.Key != "" && !strings.HasSuffix(s.Section, "*") {
			names[[2]string{s.Section, s.Key}] = true
		}
	}
	for section, keys := range *c.current.Load() {
		for key := range keys {
			names[[2]string{section, key}] = true
		}
	}
	list := make([]Known, 0, len(names))
	for name := range names {
		list = append(list, c.known(name[0], name[1]))
	}
	sort.Slice(list, func(i, j int) bool {
		return slices.Compare([]string{list[i].Section, list[i].Key}, []string{list[j].Section, list[j].Key}) < 0
	})
	return list
}

// known describes one setting. c.mu is held.
func (c *Config) known(section, key string) Known {
	k := Known{Section: section, Key: key, Default: defaults[section][key], Fixed: protected[section]}
	if stock, ok := c.stock[section][key]; ok {
		k.Default = stock
	}
	k.Means, k.Effect = meaning(section, key)
	k.Restart = strings.Contains(strings.ToLower(k.Means), "needs a restart")
	in := c.holder(section, key)
	value, set := (*c.current.Load())[in][key]
	if k.Value = k.Default; set {
		k.Value = value
	}
	k.Origin, k.From = c.origin(in, key)
	if k.Secret = secret(section, key); k.Secret && k.Value != "" {
		k.Value = mask
	}
	return k
}

// holder is the section whose key counts: the older one of two where that alone sets it.
func (c *Config) holder(section, key string) string {
	old := ""
	switch {
	case section == "chttpd" && alsoInHTTPD[key]:
		old = "httpd"
	case section == "chttpd_auth":
		old = "couch_httpd_auth"
	}
	now := *c.current.Load()
	if _, ok := now[section][key]; !ok && old != "" {
		if _, ok := now[old][key]; ok {
			return old
		}
	}
	return section
}

// origin tells from which layer a value is.
func (c *Config) origin(section, key string) (kind, from string) {
	if v, ok := c.variables[[2]string{section, key}]; ok && v.set == (*c.current.Load())[section][key] {
		return OriginEnvironment, v.name
	}
	if _, ok := c.memory[section][key]; ok {
		return OriginMemory, ""
	}
	if file, ok := c.over.from[section][key]; ok {
		return OriginFile, file
	}
	if shared, ok := c.common[section][key]; ok && !ofNode(section, key) {
		if shared == nil {
			return OriginDefault, ""
		}
		return OriginStore, ""
	}
	if file, ok := c.files.from[section][key]; ok {
		return OriginFile, file
	}
	return OriginDefault, ""
}

// variable is one of the environment that has set a key.
type variable struct{ name, set string }

// FromEnvironment notes that a variable has set a key to the value that it has now.
func (c *Config) FromEnvironment(section, key, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.variables[[2]string{section, key}] = variable{name, (*c.current.Load())[section][key]}
}

// meaning is the sentence of the tables about a setting, and whether it has an effect.
func meaning(section, key string) (means string, effect bool) {
	if i := ignored(section, key); i != nil {
		return i.Means, false
	}
	section, _, _ = strings.Cut(section, ":") // cors:HOST
	for _, named := range []string{key, ""} {
		i := slices.IndexFunc(Settings, func(s Setting) bool { return s.Section == section && s.Key == named })
		if i >= 0 {
			return Settings[i].Doc, true
		}
	}
	return "", false
}

// secretKeys and secretSections are those whose values are shown to nobody: with some of them one
// can act as anybody, and hashes of passwords can be guessed from.
var (
	secretKeys     = []string{"secret", "password", "passwd", "token", "api_key"}
	secretSections = []string{"admins", "jwt_keys"}
)

// secret reports whether the value of a setting is masked. Of settings that nobody knows the name
// decides.
func secret(section, key string) bool {
	if key != "" && slices.Contains(secretSections, section) || section == "otel" && key == "headers" {
		return true
	}
	if _, named := defaults[section][key]; named && key != "secret" {
		return false // the table has no other one
	}
	return slices.ContainsFunc(secretKeys, func(word string) bool {
		return strings.HasSuffix(strings.ToLower(key), word)
	})
}
