package bus_test

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
)

// raw is a connection that can send any bytes.
type raw struct{ conn *tls.Conn }

// dialRaw connects, and waits until the hub accepts the connection.
func dialRaw(srv *bus.Server, conf *tls.Config) (*raw, error) {
	c, err := tls.Dial("tcp", srv.Address().String(), conf)
	if err != nil {
		return nil, err
	}
	r := &raw{c}
	kind, _, err := r.next()
	if err == nil && kind != 'H' {
		err = fmt.Errorf("the hub says %q", kind)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return r, nil
}

// next returns the next frame of the hub.
func (r *raw) next() (kind byte, body []byte, err error) {
	if err := r.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, nil, err
	}
	var head [5]byte
	if _, err := io.ReadFull(r.conn, head[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(head[:4])-1)
	_, err = io.ReadFull(r.conn, body)
	return head[4], body, err
}

// send writes any frame.
func (r *raw) send(kind byte, body []byte) error {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)+1))
	if err := r.conn.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	_, err := r.conn.Write(append(append(b, kind), body...))
	return err
}

// said returns the body of a message frame.
func said(subject, reply string, body []byte) []byte {
	var b []byte
	for _, text := range []string{subject, reply} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return append(b, body...)
}

// newRaw is a target with a valid certificate and arbitrary behaviour.
func newRaw(t *testing.T, a *authority, srv *bus.Server, id fleet.TargetID) *raw {
	t.Helper()
	r, err := dialRaw(srv, a.conf("target", string(id)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.conn.Close() })
	return r
}
