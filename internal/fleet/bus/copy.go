package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// apiError is the error in an answer of the JetStream API.
type apiError struct {
	Error *struct {
		Description string `json:"description"`
	} `json:"error"`
}

// api sends a request to the JetStream API that its Go library does not offer.
func api(ctx context.Context, nc *nats.Conn, subject string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	m, err := nc.RequestWithContext(ctx, subject, body)
	if err != nil {
		return err
	}
	return apiAnswer(m, out)
}

func apiAnswer(m *nats.Msg, out any) error {
	var t apiError
	if len(m.Data) > 0 {
		if err := json.Unmarshal(m.Data, &t); err != nil {
			return err
		}
	}
	if t.Error != nil {
		return errors.New(t.Error.Description)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(m.Data, out)
}

// copyStream copies one complete stream. Its messages keep their numbers and times.
func copyStream(ctx context.Context, from, to *Server, name string) error {
	src, dst := from.owned[2], to.owned[2]
	inbox := nats.NewInbox()
	sub, err := src.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	var had struct {
		Config json.RawMessage `json:"config"`
		State  json.RawMessage `json:"state"`
	}
	if err := api(ctx, src, "$JS.API.STREAM.SNAPSHOT."+name,
		map[string]any{"deliver_subject": inbox, "no_consumers": true, "jsck": true}, &had); err != nil {
		return fmt.Errorf("cannot read the stream: %w", err)
	}
	var where struct {
		Subject string `json:"deliver_subject"`
	}
	if err := api(ctx, dst, "$JS.API.STREAM.RESTORE."+name, had, &where); err != nil {
		return fmt.Errorf("cannot write the copy: %w", err)
	}
	if err := pump(ctx, sub, dst, where.Subject); err != nil {
		return err
	}
	return sameStream(ctx, from, to, name)
}

// pump forwards the pieces of a stream until the end.
func pump(ctx context.Context, sub *nats.Subscription, dst *nats.Conn, subject string) error {
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("cannot read the stream: %w", err)
		}
		if status := m.Header.Get("Status"); len(m.Data) == 0 && status != "" && status != "204" {
			return fmt.Errorf("cannot read the stream: %s", m.Header.Get("Description"))
		}
		answer, err := dst.RequestWithContext(ctx, subject, m.Data)
		if err == nil {
			err = apiAnswer(answer, nil)
		}
		if err != nil {
			return fmt.Errorf("cannot write the copy: %w", err)
		}
		if len(m.Data) == 0 {
			return nil
		}
		if m.Reply != "" {
			if err := m.Respond(nil); err != nil {
				return err
			}
		}
	}
}

// sameStream returns an error if the copy does not have the same messages.
func sameStream(ctx context.Context, from, to *Server, name string) error {
	a, err := from.js.Stream(ctx, name)
	if err != nil {
		return err
	}
	b, err := to.js.Stream(ctx, name)
	if err != nil {
		return err
	}
	x, y := a.CachedInfo().State, b.CachedInfo().State
	if x.Msgs != y.Msgs || x.LastSeq != y.LastSeq || x.Msgs > 0 && x.FirstSeq != y.FirstSeq {
		return fmt.Errorf("cannot copy the whole stream: it has %d messages up to number %d, and the copy has %d up to %d",
			x.Msgs, x.LastSeq, y.Msgs, y.LastSeq)
	}
	return nil
}
