// SPDX-License-Identifier: Apache-2.0
#include "schema/proxy_env.hpp"

#include <doctest/doctest.h>

using namespace anchorhold;

TEST_CASE("every spelling of a proxy variable is one (C-14)")
{
    for (const char* name : {"HTTP_PROXY", "http_proxy", "Https_Proxy", "https_proxy", "ALL_PROXY",
                             "all_proxy", "FTP_PROXY", "ws_proxy", "WSS_PROXY", "grpc_proxy",
                             "NO_PROXY", "no_proxy", "npm_config_proxy", "NPM_CONFIG_HTTPS_PROXY",
                             "npm_config_http_proxy", "npm_config_https-proxy",
                             "npm_config_HTTP-proxy", "npm_config_noproxy", "NODE_USE_ENV_PROXY"})
        CHECK_MESSAGE(is_proxy_name(name), name);
}

TEST_CASE("a name that merely resembles a proxy variable is none")
{
    for (const char* name :
         {"", "PROXY", "HTTP_PROXY_", "_HTTP_PROXY", "MY_HTTP_PROXY", "HTTP-PROXY", "HTTPPROXY",
          "HTTP_PROXY ", "HTTP_PROXY=", "SOCKS_PROXY", "RSYNC_PROXY", "npm_config_no_proxy",
          "npm_config_no-proxy", "npm_config_https_proxy_x", "no_proxy2", "http_pro\u212ay"})
        CHECK_MESSAGE(!is_proxy_name(name), name);
}

TEST_CASE("an entry's name ends at the first equals sign, or with the entry (C-59)")
{
    CHECK(env_name("A=1=2") == "A");
    CHECK(env_name("HTTP_PROXY") == "HTTP_PROXY");
    CHECK(env_name("=x") == "");
    CHECK(env_name("") == "");
    CHECK(env_name("B=line1\nline2") == "B");
    CHECK(env_name("A B=1") == "A B");
}
