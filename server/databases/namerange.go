package databases

import (
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/server/params"
	"github.com/settee-db/settee/storage"
)

// nameRange reads the options of _all_dbs and _dbs_info.
func nameRange(c *call.Call) (storage.RangeOptions, error) {
	o, err := params.ParseViewDefaults(c.Query)
	if err != nil {
		return storage.RangeOptions{}, err
	}
	list, err := o.List(params.Limits{})
	if err != nil {
		return storage.RangeOptions{}, err
	}
	return list.Range, nil
}
