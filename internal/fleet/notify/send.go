package notify

import (
	"context"
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// SendTimeout limits the duration of one attempt.
const SendTimeout = 20 * time.Second

// Send makes one attempt to deliver a notice. Its errors contain no secrets.
func (s *Sender) Send(ctx context.Context, r document.Notification, n document.Notice) error {
	ctx, stop := context.WithTimeout(ctx, SendTimeout)
	defer stop()
	all := channelsOf(r)
	if len(all) == 0 {
		return errors.New("cannot send a notice: the rule has no " + channelNames())
	}
	return all[0].Send(ctx, s, n)
}
