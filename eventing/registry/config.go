package registry

import (
	"context"
	"encoding/json"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/storage/kv"
)

// Config gives what holds for all functions.
func (g *Registry) Config(ctx context.Context) (c definition.Config, err error) {
	err = kv.ViewAgain(ctx, g.store, func(tx kv.ReadTx) error {
		c, err = readConfig(tx)
		return err
	})
	return c, err
}

// MergeConfig takes over the members of a JSON object.
func (g *Registry) MergeConfig(ctx context.Context, object []byte) error {
	_, err := g.store.Update(ctx, func(tx kv.Tx) error {
		c, err := readConfig(tx)
		if err != nil {
			return err
		}
		if err := c.Merge(object); err != nil {
			return err
		}
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		tx.Set(key(keyConfig), text)
		noteChange(tx)
		return nil
	})
	return err
}

// ResetConfig sets everything back.
func (g *Registry) ResetConfig(ctx context.Context) error {
	_, err := g.store.Update(ctx, func(tx kv.Tx) error {
		tx.Clear(key(keyConfig))
		noteChange(tx)
		return nil
	})
	return err
}

// readConfig reads what was set over the defaults.
func readConfig(tx kv.ReadTx) (definition.Config, error) {
	c := definition.DefaultConfig()
	text, err := tx.Get(key(keyConfig))
	if err != nil || text == nil {
		return c, err
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, corrupt("configuration", err)
	}
	return c, nil
}
