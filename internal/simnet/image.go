package simnet

import "time"

// An Image is a copy of a master's data without scripts.
type Image struct{ keys []record }

// record is a key with its contents.
type record struct {
	name    string
	text    string
	set     map[string]float64
	hash    map[string]string
	expires time.Time // by the master's clock; zero: never
}

// Image returns a copy of the master's data.
func (m *Master) Image() Image {
	return read(m, m.image)
}

func (m *Master) image() (i Image) {
	for _, key := range m.redis.Keys() {
		r := record{name: key}
		switch m.redis.Type(key) {
		case "string":
			r.text, _ = m.redis.Get(key)
		case "zset":
			r.set, _ = m.redis.SortedSet(key)
		case "hash":
			r.hash = make(map[string]string)
			fields, _ := m.redis.HKeys(key)
			for _, f := range fields {
				r.hash[f] = m.redis.HGet(key, f)
			}
		default:
			panic("simnet: an image has no " + m.redis.Type(key))
		}
		if ttl := m.redis.TTL(key); ttl > 0 {
			r.expires = m.now().Add(ttl)
		}
		i.keys = append(i.keys, r)
	}
	return i
}

// Load replaces the master's data by an image of this or another master. Keys that have expired since are left out.
func (m *Master) Load(i Image) {
	m.set(func() {
		m.redis.FlushAll()
		for _, r := range i.keys {
			left := r.expires.Sub(m.now())
			if !r.expires.IsZero() && left <= 0 {
				continue
			}
			switch {
			case r.set != nil:
				for member, score := range r.set {
					_, _ = m.redis.ZAdd(r.name, score, member)
				}
			case r.hash != nil:
				for field, value := range r.hash {
					m.redis.HSet(r.name, field, value)
				}
			default:
				_ = m.redis.Set(r.name, r.text)
			}
			if !r.expires.IsZero() {
				m.redis.SetTTL(r.name, left)
			}
		}
	})
}
