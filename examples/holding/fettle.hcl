# A holding with two organizations. data/ has all targets, environments, clusters and sites.

# One environment for each organization and stage: press-production, shop-staging, …
environment "stage" {
  for_each = merge([
    for org, o in yamldecode(file("data/organizations.yaml")) :
    { for stage, s in o.environments : "${org}-${stage}" => merge(s, { org = org, stage = stage, domain = o.domain }) }
  ]...)
  at_least    = 4
  labels      = { organization = each.value.org, stage = each.value.stage }
  domain      = each.value.stage == "production" ? each.value.domain : "${each.value.stage}.${each.value.domain}"
  vars        = each.value.vars
  min_members = sum(values(each.value.hosts))
}

# As many targets as the data says: shop-production-web1, shop-production-web2, …
target "host" {
  for_each = merge(flatten([
    for org, o in yamldecode(file("data/organizations.yaml")) : [
      for stage, s in o.environments : [
        for role, count in s.hosts : {
          for i in range(count) : "${org}-${stage}-${role}${i + 1}" => { organization = org, stage = stage, role = role }
        }
      ]
    ]
  ])...)
  at_least = 10
  labels   = each.value
  roles    = [each.value.role]
}

cluster "service" {
  for_each    = yamldecode(file("data/clusters.yaml"))
  at_least    = 3
  targets     = ["${each.value.at}-${each.value.role}*"]
  min_members = each.value.min_members
  check "port" { tcp = "127.0.0.1:${each.value.port}" }
}

target_group "all" {
  targets = ["*"]
  layer   = ["base"]
  modules = ["base"]
}

role "web" { modules = ["web"] }

role "db" {
  modules = ["service"]
  vars    = { service = "db" }
}

role "search" {
  modules = ["service"]
  vars    = { service = "search" }
}

# Each organization has its own sites: one instance of the module site for each.
target_group "press-web" {
  labels = { organization = "press", role = "web" }
  module "site" {
    for_each = yamldecode(file("data/sites.yaml")).press
    vars     = { port = each.value.port }
  }
}

target_group "shop-web" {
  labels = { organization = "shop", role = "web" }
  module "site" {
    for_each = yamldecode(file("data/sites.yaml")).shop
    vars     = { port = each.value.port }
  }
}
