// SPDX-License-Identifier: GPL-2.0-or-later
// A cable whose ends have a speed: virtual Ethernet devices do not let theirs be set, tap devices do.
#pragma once

#include "user/base/fd.h"
#include "user/base/netns.h"
#include "user/base/result.h"

#include <memory>
#include <string>
#include <thread>

namespace bondtrace::test {

class TapCable {
  public:
    // Makes a tap device in each of the two namespaces, with carrier from now on, and carries every frame
    // from one to the other. The devices and their carrier go with this object.
    static Result<std::unique_ptr<TapCable>> lay(const NetNs& here, const std::string& name_here,
                                                 const NetNs& there, const std::string& name_there);
    TapCable(const TapCable&) = delete;
    TapCable& operator=(const TapCable&) = delete;
    ~TapCable();

  private:
    TapCable(Fd here, Fd there, Fd stop);
    void carry() const;

    Fd here_, there_, stop_;
    std::thread carrier_;
};

} // namespace bondtrace::test
