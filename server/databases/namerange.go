package databases

import (
	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/docs"
	"github.com/settee-db/settee/storage"
)

// nameRange reads the options of _all_dbs and _dbs_info.
func nameRange(c *call.Call) (storage.RangeOptions, error) {
	o, err := compat.ParseViewDefaults(c.Query)
	if err == nil {
		err = o.CheckAllDocs(compat.ViewLimits{})
	}
	if err != nil {
		return storage.RangeOptions{}, err
	}
	return docs.IDRange(o), nil
}
