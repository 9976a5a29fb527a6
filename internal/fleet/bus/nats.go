package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// overNATS implements subjects with a NATS connection, for messages between hubs.
type overNATS struct{ nc *nats.Conn }

func (c overNATS) Send(subject, reply string, body []byte) error {
	return c.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: body})
}

func (c overNATS) Receive(subject, group string, each func(Message)) error {
	_, err := c.nc.QueueSubscribe(subject, group, func(m *nats.Msg) {
		noReceiver := len(m.Data) == 0 && m.Header.Get("Status") == "503"
		each(Message{Subject: m.Subject, Reply: m.Reply, Body: m.Data, NoReceiver: noReceiver})
	})
	if err != nil {
		return err
	}
	return flush(context.Background(), c.nc)
}

// orElse returns v if it is positive, and otherwise the default.
func orElse[T int | int32 | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// own connects the hub to its own server, within the process. If the server ends the connection, it
// is made again at once.
func (s *Server) own(user string) (*nats.Conn, error) {
	o := nats.GetDefaultOptions()
	o.Name, o.User, o.Password, o.InProcessServer = "hub", user, s.secret, s.nats
	o.MaxReconnect, o.ReconnectWait, o.ReconnectJitter = -1, 10*time.Millisecond, 0
	o.AsyncErrorCB = func(_ *nats.Conn, _ *nats.Subscription, err error) {
		s.warn("on the hub's own connection: " + err.Error())
	}
	o.ReconnectedCB = func(*nats.Conn) { s.reconnected() }
	nc, err := o.Connect()
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the bus of this hub: %w", err)
	}
	return nc, nil
}
