package server

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/storage"
)

// nameRange reads the options of _all_dbs and _dbs_info.
func (c *Call) nameRange() (storage.RangeOptions, error) {
	o, err := compat.ParseViewDefaults(c.query)
	if err == nil {
		err = o.CheckAllDocs(compat.ViewLimits{})
	}
	if err != nil {
		return storage.RangeOptions{}, err
	}
	w := listWriter{o: o}
	return w.rangeOptions(), nil
}
