package hub

import (
	"context"
	"path"
	"time"

	"fettle.dev/fettle/internal/fleet/view"
)

// watchView ends a hub whose read model is damaged. Run then creates a new one from the store.
func (h *Hub) watchView(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-h.view.Damaged():
		return err
	}
}

// replaceView removes a damaged read model after the hub that used it has closed it. The pause
// before limits the work if the disk damages each new file.
func (c Config) replaceView(ctx context.Context, why error) error {
	if c.Warn != nil {
		c.Warn(why.Error() + ". This hub removes " + path.Join(c.Dir, viewFile) + ", and creates it again from the store")
	}
	select {
	case <-ctx.Done():
	case <-time.After(roomEvery):
	}
	return view.Remove(path.Join(c.Dir, viewFile))
}
