package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// What Set and Delete refuse; the texts are CouchDB's (config:validate_config_update).
var (
	ErrSection = errors.New("Invalid configuration section")
	ErrKey     = errors.New("Invalid configuration key")
	ErrValue   = errors.New("Invalid configuration value")
	ErrUnknown = errors.New("unknown_config_value")

	ErrProtected = errors.New("Config section blacklisted for modification over HTTP API.")

	ErrOverridden = errors.New("A file of this node sets the key in place of what all nodes share: change it there.")
)

// ReadOnlyError is what Set and Delete fail with where the file that receives changes may not be
// written. Its text is CouchDB's, the system's word for it: eacces or erofs.
type ReadOnlyError string

// Error implements error.
func (e ReadOnlyError) Error() string { return string(e) }

// protected are the sections the API must not change (chttpd_node,
// couch_util:check_config_blacklist).
var protected = map[string]bool{
	"daemons": true, "external": true, "httpd_design_handlers": true, "httpd_db_handlers": true,
	"httpd_global_handlers": true, "native_query_servers": true, "os_daemons": true, "query_servers": true,
	"feature_flags": true,
}

// Config is the live configuration: five layers, of which the later hide the earlier: the built-in
// values, the ini files, what processes on one store share, the ini files of Override, and what was
// set for this process's life only. All methods are safe for concurrent use; reads take no lock.
type Config struct {
	mu        sync.Mutex // serialises changes
	stock     values
	paths     []string // ini files and directories of them, read in order
	overrides []string // the same, of those that go before what is shared
	written   string   // the last ini file, which receives changes; "" where there is none
	files     layer    // what files say, over the stock values
	over      layer    // what overrides say
	common    Common   // what is shared
	memory    values   // values that Set got without persist
	// variables are those that have set a key, with what they have set.
	variables   map[[2]string]variable
	shared      Shared // receives changes; nil: the last ini file does
	current     atomic.Pointer[values]
	subscribers []func()
	check       func(section, key, value string) error // may refuse values; nil: none is refused
}

// Load reads the ini files in order over the stock values; later ones win. A path that is a
// directory stands for its *.ini files in the order of their names (config:maybe_expand_dirs).
// Missing files are empty. With no file nothing is ever persisted.
func Load(stock map[string]map[string]string, paths ...string) (*Config, error) {
	c := &Config{stock: values(stock).clone(), paths: paths, memory: make(values),
		variables: make(map[[2]string]variable)}
	if err := c.readFiles(); err != nil {
		return nil, err
	}
	c.compute()
	return c, nil
}

// Override reads ini files that go before what processes share. It is called once, after Load.
func (c *Config) Override(paths ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.overrides = paths
	if err := c.readFiles(); err != nil {
		return err
	}
	c.compute()
	return nil
}

// readFiles reads the files again, all or nothing: after an error the settings are what they were
// before. Changes over HTTP go to the last of the files, as in CouchDB.
func (c *Config) readFiles() error {
	names, err := expand(c.paths)
	if err != nil {
		return err
	}
	files, err := read(layer{c.stock.clone(), make(values)}, names)
	if err != nil {
		return err
	}
	overNames, err := expand(c.overrides)
	if err != nil {
		return err
	}
	over, err := read(layer{make(values), make(values)}, overNames)
	if err != nil {
		return err
	}
	if c.written = ""; len(names) > 0 {
		c.written = names[len(names)-1]
	}
	c.files, c.over = files, over
	return nil
}

// layer is what files say, and which file says it: none for what is built in.
type layer struct{ values, from values }

func (l layer) set(section, key, value, file string) {
	l.values.set(section, key, value)
	if l.from.remove(section, key); file != "" {
		l.from.set(section, key, file)
	}
}

func (l layer) remove(section, key string) {
	l.values.remove(section, key)
	l.from.remove(section, key)
}

// read reads files over a layer.
func read(l layer, names []string) (layer, error) {
	for _, name := range names {
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return layer{}, fmt.Errorf("config file %s: %w", name, err)
		}
		readINI(l, text, name)
	}
	return l, nil
}

// compute makes what readers see of all layers.
func (c *Config) compute() {
	v := c.files.values.clone()
	for section, keys := range c.common {
		for key, value := range keys {
			if ofNode(section, key) {
				continue
			}
			stock, known := c.stock[section][key]
			switch {
			case value != nil:
				v.set(section, key, *value)
			case known:
				v.set(section, key, stock)
			default:
				v.remove(section, key)
			}
		}
	}
	for _, layer := range []values{c.over.values, c.memory} {
		for section, keys := range layer {
			for key, value := range keys {
				v.set(section, key, value)
			}
		}
	}
	c.current.Store(&v)
}

// expand puts the ini files of a directory in its place.
func expand(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path) // sorted
		if err != nil {
			return nil, fmt.Errorf("config directory: %w", err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".ini") && !e.IsDir() {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	return files, nil
}

// AddStock adds a stock value after Load, such as one that depends on the listener's address. Call
// it before the configuration is shared.
func (c *Config) AddStock(section, key, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stock.set(section, key, value)
	if _, ok := c.files.values[section][key]; !ok {
		c.files.set(section, key, value, "")
	}
	c.compute()
}

// File returns the ini file that receives changes, "" where nothing is persisted.
func (c *Config) File() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written
}

// Subscribe registers f to run after every change, in the goroutine of the change. Call it before
// the configuration is shared.
func (c *Config) Subscribe(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = append(c.subscribers, f)
}

// Check registers f to be asked by Set before a value is changed; what it refuses is ErrValue. It
// is called once.
func (c *Config) Check(f func(section, key, value string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.check = f
}

// Get returns a value that a file or the API set, or that a stock CouchDB's ini file has; the
// table's defaults do not count.
func (c *Config) Get(section, key string) (string, bool) {
	v, ok := (*c.current.Load())[section][key]
	return v, ok
}

// String returns the value, or the table's default.
func (c *Config) String(section, key string) string {
	if v, ok := c.Get(section, key); ok {
		return v
	}
	if section == "chttpd" && alsoInHTTPD[key] {
		if v, ok := c.Get("httpd", key); ok {
			return v
		}
	}
	return defaults[section][key]
}

// Int returns the value as an integer; the table's default when it is none; unlimited for
// "infinity" as value or default.
func (c *Config) Int(section, key string, unlimited int64) int64 {
	for _, v := range []string{c.String(section, key), defaults[section][key]} {
		if n, ok := ParseInt(v, unlimited); ok {
			return n
		}
	}
	return 0
}

// ParseInt reads a value as an integer, or as unlimited for "infinity"; ok is false when it is
// neither.
func ParseInt(v string, unlimited int64) (n int64, ok bool) {
	if v == "infinity" {
		return unlimited, true
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return n, err == nil
}

// Bool returns whether the value is true; the table's default when it is neither true nor false.
func (c *Config) Bool(section, key string) bool {
	switch c.String(section, key) {
	case "true":
		return true
	case "false":
		return false
	}
	return defaults[section][key] == "true"
}

// DiskThreshold is the threshold of [disk_monitor] that a key names, in percent of a file system;
// where the monitor is off, more than there can be.
func (c *Config) DiskThreshold(key string) int64 {
	if !c.Bool("disk_monitor", "enable") {
		return math.MaxInt64
	}
	return c.Int("disk_monitor", key, math.MaxInt64)
}

// Follows36 reports whether a request that CouchDB 3.5 and 3.6 both answer with success, but not
// alike, is answered as 3.6 does ([settee] compatibility). Errors, and what 3.5 does not have,
// never ask.
func (c *Config) Follows36() bool { return c.String("settee", "compatibility") == "3.6" }

// Section returns a copy of what is set in a section.
func (c *Config) Section(section string) map[string]string {
	return maps.Clone((*c.current.Load())[section])
}

// All returns a copy of everything that is set.
func (c *Config) All() map[string]map[string]string {
	return c.current.Load().clone()
}

// Set stores a value, trimmed of white space, and returns the one it replaced ("" if none). With
// persist the last file is changed as well, or what processes share: then the others have the value
// when Set returns.
func (c *Config) Set(section, key, value string, persist bool) (string, error) {
	if err := checkNames(section, key); err != nil {
		return "", err
	}
	if !validValue(value) {
		return "", ErrValue
	}
	value = strings.TrimSpace(value)
	c.mu.Lock()
	check := c.check
	c.mu.Unlock()
	if check != nil {
		if err := check(section, key, value); err != nil {
			return "", fmt.Errorf("%w: %w", ErrValue, err)
		}
	}
	old, _ := c.Get(section, key)
	if persist && c.shares(section, key) {
		_, err := c.change(section, key, Change{Value: &value})
		return old, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, _ = c.Get(section, key); persist && c.written != "" {
		if err := c.editFile(section, key, &value); err != nil {
			return "", err
		}
		c.files.set(section, key, value, c.written)
		c.memory.remove(section, key)
	} else {
		c.memory.set(section, key, value)
	}
	c.publish()
	return old, nil
}

// Keep is Set with persist, but where the file cannot be written the value is kept in memory and
// there is no error. CouchDB does so with values that it makes itself, such as the secret of
// cookies.
func (c *Config) Keep(section, key, value string) error {
	_, err := c.Set(section, key, value, true)
	if errors.As(err, new(ReadOnlyError)) {
		_, err = c.Set(section, key, value, false)
	}
	return err
}

// SetNew keeps a value where the key has none, and returns the one that the key has then: of
// processes that do so at the same time all get the same one.
func (c *Config) SetNew(section, key, value string) (string, error) {
	if !c.shares(section, key) {
		if old, ok := c.Get(section, key); ok {
			return old, nil
		}
		return value, c.Keep(section, key, value)
	}
	return c.change(section, key, Change{Value: &value, OnlyNew: true})
}

// Settle keeps a value in place of what this process's files say. Where processes share one
// already, that one stays; what an override says is replaced in memory only.
func (c *Config) Settle(section, key, value string) error {
	var err error
	switch shares := c.shares(section, key); {
	case shares && c.overridden(section, key):
		_, err = c.Set(section, key, value, false)
	case shares:
		_, err = c.SetNew(section, key, value)
	default:
		err = c.Keep(section, key, value)
	}
	return err
}

// Delete removes a value and returns it; ErrUnknown when there is none. With persist the last file
// loses its line; a value that any file still sets is back at once. A shared value that was deleted
// falls back to the built-in one, whatever the files of this process say.
func (c *Config) Delete(section, key string, persist bool) (string, error) {
	old, ok := c.Get(section, key)
	if !ok {
		return "", ErrUnknown
	}
	if persist && c.shares(section, key) {
		_, err := c.change(section, key, Change{})
		return old, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if persist {
		if err := c.editFile(section, key, nil); err != nil {
			return "", err
		}
	}
	files, over := c.files, c.over
	if err := c.readFiles(); err != nil {
		return "", err
	}
	said, ok := c.files.values[section][key] // nothing else that has changed in files is taken over
	file := c.files.from[section][key]
	if c.files, c.over = files, over; ok {
		c.files.set(section, key, said, file)
	} else {
		c.files.remove(section, key)
	}
	c.memory.remove(section, key)
	c.publish()
	return old, nil
}

// Reload reads the files again, drops what was set in memory only, and keeps what processes share.
func (c *Config) Reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.readFiles(); err != nil {
		return err
	}
	c.memory = make(values)
	c.publish()
	return nil
}

// Protected reports whether the API must not change the section.
func Protected(section string) bool { return protected[section] }

// publish makes the values anew and tells those who have subscribed. The lock is held, so that
// changes are told one after the other.
func (c *Config) publish() {
	c.compute()
	for _, f := range c.subscribers {
		f()
	}
}

// editFile changes one setting in the last file and leaves everything else in it, comments too, as
// it was. Where the file cannot be written, the error has the POSIX name that CouchDB answers with.
func (c *Config) editFile(section, key string, value *string) error {
	if c.written == "" {
		return nil
	}
	text, err := os.ReadFile(c.written)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if text, err = editINI(text, section, key, value); err != nil {
		return err
	}
	err = writeFile(c.written, text)
	switch {
	case errors.Is(err, syscall.EROFS):
		return ReadOnlyError("erofs")
	case errors.Is(err, os.ErrPermission):
		return ReadOnlyError("eacces")
	}
	return err
}

// checkNames refuses names that an ini file could not hold.
func checkNames(section, key string) error {
	if strings.ContainsAny(section, "[]") || !validValue(section) {
		return ErrSection
	}
	if strings.ContainsAny(key, "[]") || !validValue(key) {
		return ErrKey
	}
	return nil
}

// validValue allows printable ASCII, blank, tab and UTF-8 characters none of whose bytes lies in
// 80-9F, as CouchDB's byte-wise check does (config:validate_value).
func validValue(s string) bool {
	for i := 0; i < len(s); i++ {
		b := s[i]
		if b != '\t' && (b < 0x20 || (b >= 0x7f && b <= 0x9f)) {
			return false
		}
	}
	return true
}

// FileVersion returns a text that is another one after the file at path has changed: the path with
// the file's size and time. For a missing file, or an empty path, it is the path alone.
func FileVersion(path string) string {
	if path == "" {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	return fmt.Sprint(path, info.Size(), info.ModTime().UnixNano())
}
