# Four strategies for the changes of a fleet. The hub shows their effect: fettle rollout plan
window "nights" {
  schedule = "0 1 * * mon-fri"
  duration = "4h"
  zone     = "Europe/Berlin"
}

# Web servers: a canary, a tenth, and then two of each rack at the same time. One of a hundred may fail.
rollout "web" {
  wave "canary" {
    labels = { canary = "yes" }
    size   = 1
    bake   = "10m"
    metric "errors" {
      url   = "http://prometheus.example.org:9090"
      query = "sum(rate(http_requests_total{code=~\"5..\", canary=\"yes\"}[5m]))"
      max   = 0.5
      count = 5
    }
  }
  wave "early" {
    size = "10%"
    bake = "10m"
  }
  wave "rest" { max_unavailable = "20%" }
  max_failed = "1%"
  spread     = { label = "rack", max = 2 }

  # Web servers change only while the store of their configuration works.
  after "etcd" {
    targets = ["db*"]
    modules = ["web"]
  }
}

# Members of a cluster: one at a time, each for a while, and no damage is repaired automatically.
rollout "cluster" {
  wave "each" {
    max_unavailable = 1
  }
  min_ready_time = "2m"
  min_coverage   = "100%"
  on_breach      = "pause"
}

# Devices in shops: few at a time, because they share a connection. Many of them are off, and are not missed.
rollout "shops" {
  wave "pilot" {
    size = 3
    bake = "1h"
    approval "shop team" { not_author = true }
  }
  wave "rest" { max_unavailable = "5%" }
  rate         = 10
  max_silent   = "5%"
  min_coverage = "10%"
  silent_after = "30m"
}

# Machines for tests get each change at once.
target_group "test" {
  targets = ["test*"]
  modules = ["base", "web"]
  policy { rollout = "at-once" }
}

target_group "web" {
  targets = ["web*"]
  modules = ["base", "web"]
  policy { rollout = "web" }
}

target_group "db" {
  targets = ["db*"]
  modules = ["base", "etcd"]
  policy {
    rollout = "cluster"
    windows = ["nights"]
  }
}

target_group "shops" {
  targets = ["shop*"]
  modules = ["base"]
  policy {
    rollout = "shops"
    windows = ["nights"]
  }
}

target "web1" {}
target "db1" {}
target "shop1" {}
target "test1" {}
