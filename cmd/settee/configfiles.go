package main

import (
	"path/filepath"

	"github.com/settee-db/settee/server/config"
)

// localFile is the ini file in the data directory that changes over HTTP are written to when no file is named.
const localFile = "local.ini"

// loadConfig reads the named ini files, or the data directory's own. The last one receives changes.
func loadConfig(dataDir string, files []string) (*config.Config, error) {
	if len(files) == 0 {
		files = []string{filepath.Join(dataDir, localFile)}
	}
	stock := config.Stock()
	stock["couchdb"]["database_dir"], stock["couchdb"]["view_index_dir"] = dataDir, dataDir
	return config.Load(stock, files...)
}
