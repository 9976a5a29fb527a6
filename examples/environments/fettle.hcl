# The parent of all environments. It has no members of its own.
environment "company" {
  domain = "example.org"
  vars   = { log_level = "info" }
}

environment "instance" {
  for_each    = yamldecode(file("environments.yaml"))
  parent      = each.value.parent
  domain      = try(each.value.domain, null) # default: staging.example.org
  labels      = { env = each.key }
  vars        = each.value.vars
  min_members = length(each.value.hosts)

  check "shop" { # from outside, by the public name
    http       = "http://shop.${environment.domain}/"
    from       = ["probe1"]
    fail_after = "2m"
  }
}

# The cache of each environment is a cluster of its own.
cluster "cache" {
  for_each = yamldecode(file("environments.yaml"))
  name     = "cache-${each.key}"
  labels   = { env = each.key }
  check "answers" { tcp = "127.0.0.1:6379" }
}

target "host" {
  for_each = merge([
    for name, e in yamldecode(file("environments.yaml")) : { for host in e.hosts : host => name }
  ]...)
  labels = { env = each.value }
  roles  = ["shop"]
}

target "probe1" {}

role "shop" {
  modules = ["shop"]
  vars    = { workers = 4 } # an environment overrides it
}
