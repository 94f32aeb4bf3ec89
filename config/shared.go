package config

import "fmt"

// Common is what processes that have a store together share: section → key → value, nil for a key
// that was deleted.
type Common map[string]map[string]*string

// Change asks for one key of Common to be set or deleted.
type Change struct {
	Value   *string // nil: the key is deleted
	OnlyNew bool    // where the key has a value, nothing is changed
}

// Shared stores a Common where all processes see it; package cluster/settings does.
type Shared interface {
	// Change makes a change and returns when all processes, this one by Config.Adopt, have what the
	// key has then; that is current.
	Change(section, key string, change Change) (current *string, err error)
}

// Share sends later changes to shared instead of the ini file, except those of keys that each
// process has of its own (ofNode). It is called once, before the configuration is shared by
// goroutines.
func (c *Config) Share(s Shared) { c.shared = s }

// Adopt makes common what processes share. It must not be changed any more.
func (c *Config) Adopt(common Common) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.common = common
	c.publish()
}

// shares reports whether a key is one that processes share.
func (c *Config) shares(section, key string) bool { return c.shared != nil && !ofNode(section, key) }

// change changes what is shared, and returns what the key has then.
func (c *Config) change(section, key string, change Change) (string, error) {
	if c.overridden(section, key) {
		return "", ErrOverridden
	}
	current, err := c.shared.Change(section, key, change)
	if err != nil {
		return "", fmt.Errorf("the setting %s/%s: %w", section, key, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory.remove(section, key)
	c.publish()
	if current == nil {
		return "", nil
	}
	return *current, nil
}

// overridden reports whether a key is set in a file that goes before what processes share.
func (c *Config) overridden(section, key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.over.values[section][key]
	return ok
}

// nodes are the keys that each process has of its own: changes over HTTP go to its file. The
// address that one listens on cannot be another one's on the same machine.
var nodes = map[string]map[string]bool{
	"chttpd":     {"bind_address": true, "port": true},
	"couchdb":    {"database_dir": true, "view_index_dir": true},
	"eventing":   {"port": true},
	"httpd":      {"bind_address": true, "port": true},
	"log":        {"file": true},
	"prometheus": {"bind_address": true, "port": true},
	"settee":     {"memory": true},
	"ssl":        {"port": true},
}

func ofNode(section, key string) bool { return nodes[section][key] }
