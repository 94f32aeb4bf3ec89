package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/settee-db/settee/config"
)

// localFile is the ini file in the data directory that changes over HTTP are written to when no
// file is named.
const localFile = "local.ini"

// loadConfig reads the named ini files and directories of them; without any those that
// COUCHDB_INI_FILES names, without that the data directory's own. The last file receives changes.
// Where the command line does not choose the data directory, couchdb/database_dir does.
func loadConfig(o *appOptions) (*config.Config, error) {
	paths := o.configFiles
	if len(paths) == 0 {
		paths = strings.Fields(os.Getenv("COUCHDB_INI_FILES"))
	}
	if len(paths) == 0 {
		paths = []string{filepath.Join(o.dataDir, localFile)}
	}
	c, err := config.Load(config.Stock(), paths...)
	if err != nil {
		return nil, err
	}
	if err := c.Override(o.overrideFiles...); err != nil {
		return nil, err
	}
	if dir, ok := c.Get("couchdb", "database_dir"); ok && !o.dataChosen {
		o.dataDir = dir
	}
	c.AddStock("couchdb", "database_dir", o.dataDir)
	c.AddStock("couchdb", "view_index_dir", o.dataDir)
	return c, nil
}

// nodeName is the name of the node: couchdb@ and what NODENAME says, as in CouchDB's image; of
// several on a store with the machine's name if that says nothing.
func nodeName(engine string) string {
	host := os.Getenv("NODENAME")
	if host == "" && sharedEngines[engine] {
		host, _ = os.Hostname() // without one the node is called as one that is alone
	}
	if host != "" {
		if strings.Contains(host, "@") {
			return host
		}
		return "couchdb@" + host
	}
	return ""
}
