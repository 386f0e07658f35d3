"""The words. One Chinese word has one English word, so that the corpus can be learnt without a remainder."""

from .words import Action, Adjective, Described, Mass, Noun, Person, Place, Transitive, Verb, Word, named

# People

I = Person("我", "I", "me", "my", "am")
YOU = Person("你", "you", "you", "your", "are")
HE = Person("他", "he", "him", "his", "is")
SHE = Person("她", "she", "her", "her", "is")
WE = Person("我们", "we", "us", "our", "are")
THEY = Person("他们", "they", "them", "their", "are")
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)
NAMES = (
    named("汤姆", "Tom", HE),
    named("大卫", "David", HE),
    named("杰克", "Jack", HE),
    named("小明", "Xiaoming", HE),
    named("玛丽", "Mary", SHE),
    named("安娜", "Anna", SHE),
    named("露西", "Lucy", SHE),
    named("小红", "Xiaohong", SHE),
)
YOUNG_MEN = (Word("哥哥", "older brother"), Word("弟弟", "younger brother"), Word("儿子", "son"))
YOUNG_WOMEN = (Word("姐姐", "older sister"), Word("妹妹", "younger sister"), Word("女儿", "daughter"))
MEN = (*YOUNG_MEN, Word("爸爸", "father"), Word("爷爷", "grandfather"), Word("叔叔", "uncle"))
WOMEN = (*YOUNG_WOMEN, Word("妈妈", "mother"), Word("奶奶", "grandmother"), Word("阿姨", "aunt"))

STUDENT = Noun("学生", "名", "student")
TEACHER = Noun("老师", "名", "teacher")
DOCTOR = Noun("医生", "名", "doctor")
NURSE = Noun("护士", "名", "nurse")
CHEF = Noun("厨师", "名", "chef")
WAITER = Noun("服务员", "名", "waiter")
WORKER = Noun("工人", "名", "worker")
FARMER = Noun("农民", "名", "farmer")
JOBS = (
    STUDENT,
    TEACHER,
    DOCTOR,
    NURSE,
    CHEF,
    WAITER,
    WORKER,
    FARMER,
    Noun("司机", "名", "driver"),
    Noun("警察", "名", "police officer"),
    Noun("演员", "名", "actor"),
    Noun("歌手", "名", "singer"),
    Noun("画家", "名", "painter"),
    Noun("作家", "名", "writer"),
    Noun("律师", "名", "lawyer"),
    Noun("记者", "名", "journalist"),
    Noun("工程师", "名", "engineer"),
    Noun("科学家", "名", "scientist"),
    Noun("士兵", "名", "soldier"),
)
CHILD = Noun("孩子", "个", "child", "children")
BOY = Noun("男孩", "个", "boy")
GIRL = Noun("女孩", "个", "girl")
MAN = Noun("男人", "个", "man", "men")
WOMAN = Noun("女人", "个", "woman", "women")
FRIEND = Noun("朋友", "个", "friend")
PEOPLE = (CHILD, BOY, GIRL, MAN, WOMAN)

# Animals

BUTTERFLY = Noun("蝴蝶", "只", "butterfly")
MOUSE = Noun("老鼠", "只", "mouse", "mice")
FROG = Noun("青蛙", "只", "frog")
BIRD = Noun("鸟", "只", "bird")
RABBIT = Noun("兔子", "只", "rabbit")
CAT = Noun("猫", "只", "cat")
DUCK = Noun("鸭子", "只", "duck")
CHICKEN = Noun("鸡", "只", "chicken")
GOOSE = Noun("鹅", "只", "goose", "geese")
TURTLE = Noun("乌龟", "只", "turtle")
MONKEY = Noun("猴子", "只", "monkey")
FOX = Noun("狐狸", "只", "fox")
DOG = Noun("狗", "条", "dog")
SNAKE = Noun("蛇", "条", "snake")
FISH = Noun("鱼", "条", "fish", "fish")
SHEEP = Noun("羊", "只", "sheep", "sheep")
WOLF = Noun("狼", "只", "wolf", "wolves")
PIG = Noun("猪", "头", "pig")
PANDA = Noun("熊猫", "只", "panda")
BEAR = Noun("熊", "头", "bear")
TIGER = Noun("老虎", "只", "tiger")
LION = Noun("狮子", "头", "lion")
HORSE = Noun("马", "匹", "horse")
COW = Noun("牛", "头", "cow")
ELEPHANT = Noun("大象", "头", "elephant")
PETS = (DOG, CAT, BIRD, FISH, RABBIT, TURTLE, MOUSE)
FARM_ANIMALS = (CHICKEN, DUCK, GOOSE, SHEEP, PIG, HORSE, COW)
WILD_ANIMALS = (BUTTERFLY, FROG, SNAKE, MONKEY, FOX, WOLF, BEAR, PANDA, TIGER, LION, ELEPHANT)
ANIMALS = (*PETS, *FARM_ANIMALS, *WILD_ANIMALS)
BY_SIZE = (  # every animal is clearly bigger and heavier than any in the rows above
    (BUTTERFLY,),
    (MOUSE, FROG),
    (RABBIT, CAT, DUCK, CHICKEN),
    (FOX,),
    (SHEEP, WOLF),
    (TIGER, LION, BEAR),
    (HORSE, COW),
    (ELEPHANT,),
)

# Food and drink

FRUITS = (
    Noun("苹果", "个", "apple"),
    Noun("香蕉", "根", "banana"),
    Noun("橙子", "个", "orange"),
    Noun("梨", "个", "pear"),
    Noun("桃子", "个", "peach"),
    Noun("西瓜", "个", "watermelon"),
    Noun("草莓", "颗", "strawberry"),
)
EGG = Noun("鸡蛋", "个", "egg")
SNACKS = (
    EGG,
    Noun("饺子", "个", "dumpling"),
    Noun("三明治", "个", "sandwich"),
    Noun("土豆", "个", "potato", "potatoes"),
    Noun("西红柿", "个", "tomato", "tomatoes"),
    Noun("胡萝卜", "根", "carrot"),
    Noun("饼干", "块", "cookie"),
    Noun("汉堡", "个", "hamburger"),
)
STAPLES = (
    Mass("米饭", "碗", "rice", "bowl"),
    Mass("面条", "碗", "noodles", "bowl"),
    Mass("面包", "片", "bread", "slice"),
    Mass("比萨", "块", "pizza", "slice"),
    Mass("蛋糕", "块", "cake", "piece"),
    Mass("奶酪", "块", "cheese", "piece"),
    Mass("巧克力", "块", "chocolate", "piece"),
)
DRINKS = (
    Mass("水", "杯", "water", "glass"),
    Mass("牛奶", "杯", "milk", "glass"),
    Mass("果汁", "杯", "juice", "glass"),
    Mass("可乐", "瓶", "cola", "bottle"),
    Mass("汽水", "瓶", "soda", "bottle"),
    Mass("茶", "杯", "tea", "cup"),
    Mass("咖啡", "杯", "coffee", "cup"),
)
PIECES_OF_FOOD = (*FRUITS, *SNACKS)
FOODS = (*PIECES_OF_FOOD, *STAPLES)

# Things

BOOK = Noun("书", "本", "book")
DICTIONARY = Noun("词典", "本", "dictionary")
NOVEL = Noun("小说", "本", "novel")
MAGAZINE = Noun("杂志", "本", "magazine")
NEWSPAPER = Noun("报纸", "份", "newspaper")
READING = (BOOK, DICTIONARY, NOVEL, MAGAZINE, NEWSPAPER)
LETTER = Noun("信", "封", "letter")
STORY = Noun("故事", "个", "story")
EMAIL = Noun("邮件", "封", "email")
POSTCARD = Noun("明信片", "张", "postcard")
GIFT = Noun("礼物", "份", "gift")
PICTURE = Noun("画", "幅", "picture")
PHOTO = Noun("照片", "张", "photo")
MAP = Noun("地图", "张", "map")
SHIRT = Noun("衬衫", "件", "shirt")
COAT = Noun("外套", "件", "coat")
SWEATER = Noun("毛衣", "件", "sweater")
SKIRT = Noun("裙子", "条", "skirt")
SCARF = Noun("围巾", "条", "scarf", "scarves")
HAT = Noun("帽子", "顶", "hat")
GARMENTS = (SHIRT, COAT, SWEATER, Noun("夹克", "件", "jacket"))
CLOTHES = (*GARMENTS, SKIRT, SCARF, HAT)
UMBRELLA = Noun("雨伞", "把", "umbrella")
KEY = Noun("钥匙", "把", "key")
PEN = Noun("钢笔", "支", "pen")
PENCIL = Noun("铅笔", "支", "pencil")
BAG = Noun("包", "个", "bag")
BOX = Noun("盒子", "个", "box")
BALL = Noun("球", "个", "ball")
TOY = Noun("玩具", "个", "toy")
WATCH = Noun("手表", "块", "watch")
LAMP = Noun("台灯", "盏", "lamp")
CUP = Noun("杯子", "个", "cup")
PLATE = Noun("盘子", "个", "plate")
BOWL = Noun("碗", "个", "bowl")
KNIFE = Noun("刀", "把", "knife", "knives")
SPOON = Noun("勺子", "把", "spoon")
MIRROR = Noun("镜子", "面", "mirror")
DISHES = (CUP, PLATE, BOWL, SPOON, KNIFE)
BELONGINGS = (UMBRELLA, PEN, BAG, BOX, BALL, TOY, WATCH, LAMP, CUP, MIRROR)
PHONE = Noun("手机", "部", "phone")
COMPUTER = Noun("电脑", "台", "computer")
CAMERA = Noun("照相机", "台", "camera")
DEVICES = (PHONE, COMPUTER, CAMERA)
TABLE = Noun("桌子", "张", "table")
CHAIR = Noun("椅子", "把", "chair")
BED = Noun("床", "张", "bed")
SOFA = Noun("沙发", "张", "sofa")
SEATS = (CHAIR, BED, SOFA)
BIKE = Noun("自行车", "辆", "bike")
CAR = Noun("汽车", "辆", "car")
MOTORCYCLE = Noun("摩托车", "辆", "motorcycle")
BUS = Noun("公共汽车", "辆", "bus")
TAXI = Noun("出租车", "辆", "taxi")
TRAIN = Noun("火车", "列", "train")
PLANE = Noun("飞机", "架", "plane")
BOAT = Noun("船", "条", "boat")
OWN_VEHICLES = (BIKE, CAR, MOTORCYCLE)
PUBLIC_VEHICLES = (BUS, TAXI, TRAIN, PLANE, BOAT)
VEHICLES = (*OWN_VEHICLES, *PUBLIC_VEHICLES)
GUITAR = Noun("吉他", "把", "guitar")
HOUSE = Noun("房子", "座", "house")
FLOWER = Noun("花", "朵", "flower")
TREE = Noun("树", "棵", "tree")
WINDOW, DOOR = Noun("窗户", "扇", "window"), Noun("门", "扇", "door")
BUILDINGS = (
    Noun("学校", "所", "school"),
    Noun("大学", "所", "university"),
    Noun("医院", "家", "hospital"),
    Noun("餐馆", "家", "restaurant"),
    Noun("超市", "家", "supermarket"),
    Noun("银行", "家", "bank"),
    Noun("商店", "家", "store"),
    Noun("博物馆", "座", "museum"),
    Noun("图书馆", "座", "library"),
    Noun("公园", "座", "park"),
)
WORKPLACES = BUILDINGS[:-1]
DURABLES = (*READING, *CLOTHES, *BELONGINGS, *DEVICES, TABLE, *SEATS, *OWN_VEHICLES, GUITAR)
OWNED = (*DURABLES, *PETS[:5], KEY, PENCIL, MAP, PHOTO, HOUSE)
POST = (LETTER, EMAIL, POSTCARD)
NAMEABLE = (
    *OWNED,
    *ANIMALS,
    *PIECES_OF_FOOD,
    *DISHES,
    *PUBLIC_VEHICLES,
    *POST,
    *(GIFT, PICTURE, FLOWER, TREE, WINDOW, DOOR),
)
LARGE = (*DEVICES, TABLE, *SEATS, *VEHICLES, GUITAR, HOUSE)

# Adjectives

BIG = Adjective("大", "big", "bigger", "biggest", "大")
SMALL = Adjective("小", "small", "smaller", "smallest")
NEW = Adjective("新", "new", "newer", "newest", "新")
OLD = Adjective("旧", "old", "older", "oldest", "旧")
EXPENSIVE = Adjective("贵", "expensive")
CHEAP = Adjective("便宜", "cheap", "cheaper", "cheapest", "便宜的")
BEAUTIFUL = Adjective("漂亮", "beautiful", before="漂亮的")
CLEAN = Adjective("干净", "clean", "cleaner", "cleanest", "干净的")
DIRTY = Adjective("脏", "dirty", "dirtier", "dirtiest")
HEAVY = Adjective("重", "heavy", "heavier", "heaviest")
LIGHT = Adjective("轻", "light", "lighter", "lightest")
FAST = Adjective("快", "fast", "faster", "fastest")
SLOW = Adjective("慢", "slow", "slower", "slowest")
COMFORTABLE = Adjective("舒服", "comfortable", before="舒服的")
USEFUL = Adjective("有用", "useful", before="有用的")
INTERESTING = Adjective("有意思", "interesting", before="有意思的")
BORING = Adjective("无聊", "boring", before="无聊的")
THICK = Adjective("厚", "thick", "thicker", "thickest")
GOOD = Adjective("好", "good", "better", "best", "好")
DELICIOUS = Adjective("好吃", "delicious", before="好吃的")
FRESH = Adjective("新鲜", "fresh", "fresher", "freshest", "新鲜的")
SWEET = Adjective("甜", "sweet", "sweeter", "sweetest")
CUTE = Adjective("可爱", "cute", "cuter", "cutest", "可爱的")
FAT = Adjective("胖", "fat", "fatter", "fattest")
QUIET = Adjective("安静", "quiet", "quieter", "quietest", "安静的")
FAMOUS = Adjective("出名", "famous", before="出名的")
SMART = Adjective("聪明", "smart", "smarter", "smartest", "聪明的")
LAZY = Adjective("懒", "lazy", "lazier", "laziest")
TALL = Adjective("高", "tall", "taller", "tallest")
TRAITS = (
    TALL,
    SMART,
    LAZY,
    QUIET,
    FAMOUS,
    Adjective("年轻", "young", "younger", "youngest", "年轻的"),
    Adjective("强壮", "strong", "stronger", "strongest", "强壮的"),
    Adjective("友好", "friendly", "friendlier", "friendliest", "友好的"),
    Adjective("诚实", "honest", before="诚实的"),
    Adjective("勇敢", "brave", "braver", "bravest", "勇敢的"),
    Adjective("善良", "kind", "kinder", "kindest", "善良的"),
)
HAPPY = Adjective("高兴", "happy", "happier", "happiest")
SAD = Adjective("难过", "sad", "sadder", "saddest")
TIRED = Adjective("累", "tired")
BUSY = Adjective("忙", "busy", "busier", "busiest")
HUNGRY = Adjective("饿", "hungry", "hungrier", "hungriest")
THIRSTY = Adjective("渴", "thirsty", "thirstier", "thirstiest")
ANGRY = Adjective("生气", "angry", "angrier", "angriest")
NERVOUS = Adjective("紧张", "nervous")
SLEEPY = Adjective("困", "sleepy", "sleepier", "sleepiest")
STATES = (HAPPY, SAD, TIRED, BUSY, HUNGRY, THIRSTY, ANGRY, NERVOUS, SLEEPY)

_BOUGHT = (NEW, OLD, EXPENSIVE, CHEAP)
DESCRIBED_READING = Described(READING, (*_BOUGHT, GOOD, INTERESTING, BORING, USEFUL, THICK, HEAVY, LIGHT))
DESCRIBED_OWN = (
    DESCRIBED_READING,
    Described(CLOTHES, (*_BOUGHT, BEAUTIFUL, COMFORTABLE, CLEAN, DIRTY, BIG, SMALL)),
    Described(BELONGINGS, (*_BOUGHT, BEAUTIFUL, BIG, SMALL)),
    Described(DEVICES, (*_BOUGHT, GOOD, USEFUL, HEAVY, LIGHT, FAST, SLOW)),
    Described((TABLE,), (*_BOUGHT, CLEAN, DIRTY, BIG, SMALL, HEAVY)),
    Described(SEATS, (*_BOUGHT, CLEAN, COMFORTABLE, BIG, HEAVY)),
    Described(OWN_VEHICLES, (*_BOUGHT, CLEAN, DIRTY, BEAUTIFUL, FAST)),
)
DESCRIBED_ANIMALS = Described(ANIMALS, (BIG, SMALL, BEAUTIFUL, CUTE, FAT, SMART, LAZY))
DESCRIBED_PETS = Described(PETS[:5], DESCRIBED_ANIMALS.adjectives)
DESCRIBED_FOOD = (
    Described(FRUITS, (EXPENSIVE, CHEAP, BIG, SMALL, FRESH, SWEET, DELICIOUS)),
    Described(SNACKS, (EXPENSIVE, CHEAP, BIG, SMALL, FRESH, DELICIOUS)),
)
DESCRIBED_THINGS = (
    *DESCRIBED_OWN,
    DESCRIBED_ANIMALS,
    *DESCRIBED_FOOD,
    Described(DISHES, (NEW, OLD, EXPENSIVE, CHEAP, CLEAN, DIRTY, BEAUTIFUL)),
    Described(PUBLIC_VEHICLES, (NEW, OLD, CLEAN, DIRTY, BIG, SMALL, FAST, SLOW)),
    Described(BUILDINGS, (GOOD, NEW, OLD, CLEAN, BIG, SMALL, BEAUTIFUL, QUIET, FAMOUS)),
)
GOOD_POINTS = (  # nouns with what may please and what may displease about them
    (READING, (INTERESTING, USEFUL), (EXPENSIVE, OLD, THICK)),
    (CLOTHES, (BEAUTIFUL, CLEAN, CHEAP), (OLD, BIG, SMALL)),
    (DEVICES, (USEFUL, NEW, LIGHT), (EXPENSIVE, SLOW)),
    (SEATS, (COMFORTABLE, CLEAN), (EXPENSIVE, OLD, HEAVY)),
    (OWN_VEHICLES, (FAST, BEAUTIFUL, NEW), (EXPENSIVE, DIRTY)),
    (FRUITS, (DELICIOUS, SWEET, FRESH), (EXPENSIVE, SMALL)),
    (PETS[:5], (CUTE, SMART), (FAT, LAZY)),
)

COLORS = (
    Word("红色", "red"),
    Word("蓝色", "blue"),
    Word("绿色", "green"),
    Word("黄色", "yellow"),
    Word("白色", "white"),
    Word("黑色", "black"),
    Word("棕色", "brown"),
    Word("灰色", "gray"),
    Word("粉色", "pink"),
    Word("紫色", "purple"),
)
COLORED = (*CLOTHES, UMBRELLA, PEN, BAG, CUP, BALL, PHONE, *SEATS, TABLE, *OWN_VEHICLES)

# Places

PARK = Place("公园", "in the park", "to the park")
SCHOOL = Place("学校", "at school", "to school")
HOME = Place("家", "at home", "home")
LIBRARY = Place("图书馆", "in the library", "to the library")
HOSPITAL = Place("医院", "at the hospital", "to the hospital")
SUPERMARKET = Place("超市", "at the supermarket", "to the supermarket")
RESTAURANT = Place("餐馆", "at the restaurant", "to the restaurant")
BANK = Place("银行", "at the bank", "to the bank")
CINEMA = Place("电影院", "at the cinema", "to the cinema")
MUSEUM = Place("博物馆", "in the museum", "to the museum")
ZOO = Place("动物园", "at the zoo", "to the zoo")
GYM = Place("体育馆", "at the gym", "to the gym")
AIRPORT = Place("机场", "at the airport", "to the airport")
STATION = Place("火车站", "at the train station", "to the train station")
BEACH = Place("海边", "at the beach", "to the beach", zh_at="海边")
FARM = Place("农场", "on the farm", "to the farm")
FOREST = Place("森林", "in the forest", "to the forest")
OFFICE = Place("办公室", "in the office", "to the office")
KITCHEN = Place("厨房", "in the kitchen", "to the kitchen")
GARDEN = Place("花园", "in the garden", "to the garden")
CLASSROOM = Place("教室", "in the classroom", "to the classroom")
LIVING_ROOM = Place("客厅", "in the living room", "to the living room")
BEDROOM = Place("卧室", "in the bedroom", "to the bedroom")
STREET = Place("街", "on the street", "to the street", zh_at="街上")
RIVER = Place("河", "in the river", "to the river")
GOALS = (
    PARK,
    SCHOOL,
    LIBRARY,
    HOSPITAL,
    SUPERMARKET,
    RESTAURANT,
    BANK,
    CINEMA,
    MUSEUM,
    ZOO,
    GYM,
    AIRPORT,
    STATION,
    BEACH,
    FARM,
    FOREST,
)
OUTINGS = tuple(place for place in GOALS if place not in (SCHOOL, HOSPITAL, BANK, AIRPORT, STATION))
SCENES = (  # places and what may be seen there
    (PARK, (TREE, FLOWER, BIRD, DOG, BUTTERFLY, *PEOPLE)),
    (GARDEN, (TREE, FLOWER, BIRD, CAT, RABBIT, BUTTERFLY)),
    (CLASSROOM, (STUDENT, TEACHER, TABLE, CHAIR, COMPUTER, MAP)),
    (LIBRARY, (STUDENT, TABLE, CHAIR, COMPUTER, LAMP)),
    (KITCHEN, (CHEF, BOWL, PLATE, CUP, KNIFE, EGG, *FRUITS[:3])),
    (LIVING_ROOM, (SOFA, CHAIR, TABLE, PICTURE, MIRROR, CAT)),
    (BEDROOM, (BED, LAMP, CHAIR, MIRROR, PICTURE)),
    (OFFICE, (COMPUTER, TABLE, CHAIR, LAMP, WORKER)),
    (HOSPITAL, (DOCTOR, NURSE, BED, CHILD, WOMAN)),
    (RESTAURANT, (WAITER, CHEF, TABLE, CHAIR, MAN)),
    (FARM, (FARMER, DOG, TREE, *FARM_ANIMALS)),
    (ZOO, (*WILD_ANIMALS[3:], CHILD)),
    (FOREST, (TREE, BIRD, FROG, SNAKE, MONKEY, FOX, WOLF, BEAR)),
    (STREET, (*OWN_VEHICLES, BUS, TAXI, TREE, *PEOPLE)),
    (STATION, (TRAIN, TAXI, WORKER)),
    (AIRPORT, (PLANE, BUS, TAXI)),
    (RIVER, (FISH, DUCK, GOOSE, TURTLE, FROG)),
)
_SMALL = (BOOK, DICTIONARY, MAGAZINE, KEY, PEN, PENCIL, PHONE, CAMERA, WATCH, UMBRELLA, *FRUITS[:3])
_ON_TABLE = (*_SMALL, LAMP, *DISHES, NEWSPAPER, LETTER, PHOTO, MAP)
_ON_SEAT = (*READING, COAT, SWEATER, HAT, BAG, PHONE, TOY, CAT, SCARF)
_ON_FLOOR = (CAT, BALL, BOX, TOY, BAG, DOG, MOUSE)
SPOTS = (  # where things lie, and which
    (Word("桌子上", "on the table"), _ON_TABLE),
    (Word("椅子上", "on the chair"), _ON_SEAT),
    (Word("床上", "on the bed"), _ON_SEAT),
    (Word("沙发上", "on the sofa"), _ON_SEAT),
    (Word("盒子里", "in the box"), _SMALL),
    (Word("包里", "in the bag"), _SMALL),
    (Word("桌子下面", "under the table"), _ON_FLOOR),
    (Word("椅子下面", "under the chair"), _ON_FLOOR),
    (Word("床下面", "under the bed"), _ON_FLOOR),
    (Word("沙发后面", "behind the sofa"), _ON_FLOOR),
    (Word("门后面", "behind the door"), _ON_FLOOR),
    (Word("窗户旁边", "next to the window"), (CAT, TABLE, CHAIR, BED, SOFA, LAMP, MIRROR)),
)
CITIES = (
    Word("北京", "Beijing"),
    Word("上海", "Shanghai"),
    Word("伦敦", "London"),
    Word("巴黎", "Paris"),
    Word("纽约", "New York"),
    Word("东京", "Tokyo"),
    Word("柏林", "Berlin"),
    Word("罗马", "Rome"),
    Word("莫斯科", "Moscow"),
)
COUNTRIES = (
    Word("中国", "China"),
    Word("英国", "Britain"),
    Word("法国", "France"),
    Word("德国", "Germany"),
    Word("日本", "Japan"),
    Word("意大利", "Italy"),
    Word("加拿大", "Canada"),
    Word("西班牙", "Spain"),
    Word("俄罗斯", "Russia"),
)
LANGUAGES = (
    Word("中文", "Chinese"),
    Word("英语", "English"),
    Word("法语", "French"),
    Word("德语", "German"),
    Word("日语", "Japanese"),
    Word("西班牙语", "Spanish"),
    Word("俄语", "Russian"),
)
SUBJECTS = (
    Word("数学", "math"),
    Word("历史", "history"),
    Word("音乐", "music"),
    Word("科学", "science"),
    Word("艺术", "art"),
    *LANGUAGES[:4],
)

# Verbs

PLAY, COOK, WASH, WALK, DANCE = Verb("play"), Verb("cook"), Verb("wash"), Verb("walk"), Verb("dance")
CLEAN_UP, STUDY, WORK, REST = Verb("clean"), Verb("study"), Verb("work"), Verb("rest")
SWIM = Verb("swim", "swam", "swum", "swimming")
RUN = Verb("run", "ran", "run", "running")
SING = Verb("sing", "sang", "sung")
DRAW = Verb("draw", "drew", "drawn")
WRITE = Verb("write", "wrote", "written")
READ = Verb("read", "read")
RIDE = Verb("ride", "rode", "ridden")
DRIVE = Verb("drive", "drove", "driven")
TAKE = Verb("take", "took", "taken")
EAT = Verb("eat", "ate", "eaten")
DRINK = Verb("drink", "drank", "drunk")
SLEEP = Verb("sleep", "slept")
GET = Verb("get", "got", "gotten", "getting")
GO = Verb("go", "went", "gone", irregular_third="goes")
DO = Verb("do", "did", "done", irregular_third="does")
CHAT = Verb("chat", "chatted", irregular_ing="chatting")
BUY = Verb("buy", "bought")
SELL = Verb("sell", "sold")
FIND = Verb("find", "found")
LOSE = Verb("lose", "lost")
BREAK = Verb("break", "broke", "broken")

BASKETBALL = Action("打", "篮球", PLAY, "basketball", (SCHOOL, PARK, GYM))
SOCCER = Action("踢", "足球", PLAY, "soccer", (SCHOOL, PARK))
RUNNING = Action("跑", "步", RUN, "", (SCHOOL, PARK, BEACH, GYM))
SWIMMING = Action("游", "泳", SWIM, "", (BEACH, RIVER, GYM))
WALKING = Action("散", "步", WALK, "", (PARK, BEACH, GARDEN, FOREST))
RIDING = Action("骑", "自行车", RIDE, "a bike", (PARK,))
SINGING = Action("唱", "歌", SING, "", (SCHOOL, PARK, CLASSROOM, GARDEN))
DANCING = Action("跳", "舞", DANCE, "", (SCHOOL, PARK, GYM, LIVING_ROOM))
PHOTOGRAPHING = Action("拍", "照", TAKE, "photos", (PARK, BEACH, ZOO, GARDEN, FOREST))
COOKING = Action("做", "饭", COOK, "", (HOME, KITCHEN))
TELEVISION = Action("看", "电视", Verb("watch"), "TV", (HOME, LIVING_ROOM, BEDROOM))
MOVIES = Action("看", "电影", Verb("watch"), "movies", (HOME, CINEMA, LIVING_ROOM))
MUSIC = Action("听", "音乐", Verb("listen"), "to music", (HOME, BEDROOM, LIVING_ROOM, PARK))
READING_BOOKS = Action("看", "书", READ, "", (HOME, LIBRARY, GARDEN, BEDROOM, PARK))
CHATTING = Action("聊", "天", CHAT, "", (RESTAURANT, PARK, OFFICE, LIVING_ROOM))
SPORTS = (
    BASKETBALL,
    SOCCER,
    RUNNING,
    SWIMMING,
    RIDING,
    Action("打", "网球", PLAY, "tennis", (SCHOOL, PARK, GYM)),
    Action("打", "乒乓球", PLAY, "table tennis", (SCHOOL, GYM)),
    Action("滑", "雪", Verb("ski")),
    Action("滑", "冰", Verb("skate")),
)
GAMES = (
    Action("下", "棋", PLAY, "chess", (HOME, PARK, SCHOOL)),
    Action("玩", "游戏", PLAY, "games", (HOME, LIVING_ROOM, BEDROOM)),
)
ARTS = (
    SINGING,
    DANCING,
    Action("画", "画", DRAW, "pictures", (HOME, SCHOOL, GARDEN, CLASSROOM)),
    Action("弹", "钢琴", PLAY, "the piano", (HOME, SCHOOL, LIVING_ROOM)),
    Action("弹", "吉他", PLAY, "the guitar", (HOME, PARK, BEDROOM)),
)
INDOORS = (*GAMES, TELEVISION, MUSIC, READING_BOOKS, COOKING)
HOBBIES = (*SPORTS, *ARTS, *INDOORS, MOVIES, WALKING, PHOTOGRAPHING, CHATTING)
RESTING = Action("休息", "", REST, "", (HOME, BEDROOM, GARDEN))
SLEEPING = Action("睡", "觉", SLEEP, "", (HOME, BEDROOM))
CLEANING = Action("打扫", "房间", CLEAN_UP, "the room", (HOME,))
DISHWASHING = Action("洗", "碗", WASH, "the dishes", (HOME, KITCHEN, RESTAURANT))
LAUNDRY = Action("洗", "衣服", DO, "the laundry", (HOME,))
EXERCISING = Action("锻炼", "", Verb("exercise"), "", (HOME, PARK, GYM))
STUDYING = Action("学习", "", STUDY, "", (HOME, SCHOOL, LIBRARY, CLASSROOM))
HOMEWORK = Action("做", "作业", DO, "~ homework", (HOME, LIBRARY, CLASSROOM, BEDROOM))
BREAKFAST = Action("吃", "早饭", EAT, "breakfast")
LUNCH = Action("吃", "午饭", EAT, "lunch")
DINNER = Action("吃", "晚饭", EAT, "dinner")
TEETH = Action("刷", "牙", Verb("brush"), "~ teeth")
HANDS = Action("洗", "手", WASH, "~ hands")
SHOWER = Action("洗", "澡", TAKE, "a shower", (HOME,))
GETTING_UP = Action("起", "床", GET, "up")
GOING_HOME = Action("回", "家", GO, "home")
GOING_TO_SCHOOL = Action("上", "学", GO, "to school")
GOING_TO_WORK = Action("上", "班", GO, "to work")
LEAVING_WORK = Action("下", "班", GET, "off work")
DRIVING = Action("开", "车", DRIVE)
GOING_TO_BED = Action("上床", "睡觉", GO, "to bed")
CHORES = (CLEANING, DISHWASHING, LAUNDRY, COOKING, Action("洗", "车", WASH, "the car", (HOME,)))
DUTIES = (STUDYING, HOMEWORK, EXERCISING, CLEANING, LAUNDRY, DISHWASHING)
MEALS = (BREAKFAST, LUNCH, DINNER)
ACTIONS = (*HOBBIES, *DUTIES, CHORES[-1], RESTING)  # may take an hour
FOR_PUPILS = (HOMEWORK, GOING_TO_SCHOOL)
FOR_ADULTS = (GOING_TO_WORK, LEAVING_WORK)
ROUTINES = (  # with the hours they may start at
    (GETTING_UP, (5, 6, 7, 8)),
    (SHOWER, (6, 7, 8, 9)),
    (BREAKFAST, (6, 7, 8)),
    (GOING_TO_SCHOOL, (7, 8)),
    (GOING_TO_WORK, (7, 8, 9)),
    (LUNCH, (11, 12, 1)),
    (LEAVING_WORK, (4, 5, 6)),
    (GOING_HOME, (3, 4, 5, 6)),
    (DINNER, (5, 6, 7, 8)),
    (HOMEWORK, (4, 5, 6, 7, 8)),
    (GOING_TO_BED, (9, 10, 11)),
)
DAILY = (*(action for action, _ in ROUTINES), TEETH, HANDS)
SKILLS = (*SPORTS, *ARTS, GAMES[0], COOKING, DRIVING)
REMEDIES = (  # states, and what helps
    (TIRED, (RESTING, SLEEPING, GOING_HOME)),
    (SLEEPY, (SLEEPING, RESTING, GOING_TO_BED)),
    (SAD, (MUSIC, WALKING, CHATTING, TELEVISION)),
    (NERVOUS, (MUSIC, WALKING, RESTING, EXERCISING)),
    (ANGRY, (WALKING, MUSIC, EXERCISING)),
    (HAPPY, (SINGING, DANCING, PHOTOGRAPHING)),
)
EFFORTS = (*SPORTS, DANCING, *CHORES, STUDYING, EXERCISING)
BACKGROUND = (MUSIC, SINGING, CHATTING)
WITH_BACKGROUND = (RUNNING, WALKING, *CHORES, DRIVING, ARTS[2])

_FIXABLE = (BIKE, CAR, MOTORCYCLE, WATCH, PHONE, COMPUTER, CAMERA, CHAIR, TABLE, LAMP)
EATING = Transitive("吃", EAT, PIECES_OF_FOOD)
BUYING = Transitive("买", BUY, (*DURABLES, *FRUITS))
READ_ONE = Transitive("读", READ, (*READING[2:], BOOK, LETTER, STORY))
WRITE_ONE = Transitive("写", WRITE, (LETTER, STORY, EMAIL, POSTCARD))
DRAW_ONE = Transitive("画", DRAW, (*ANIMALS, FLOWER, TREE, HOUSE, BOAT, PLANE))
REPAIR = Transitive("修", Verb("repair"), _FIXABLE)
WASH_ONE = Transitive("洗", WASH, (*DISHES, SHIRT, SWEATER, SKIRT, FRUITS[0], *FRUITS[3:5]))
UNDER_WAY = (EATING, READ_ONE, WRITE_ONE, DRAW_ONE, REPAIR, WASH_ONE)  # may be caught in the act
DEEDS = (
    *UNDER_WAY,
    WRITE_ONE,
    BUYING,
    BUYING,
    Transitive("卖", SELL, (*OWN_VEHICLES, *DEVICES, TABLE, SOFA, PICTURE)),
    Transitive("找到", FIND, (KEY, PHONE, WATCH, UMBRELLA, BAG, BALL, CAT, DOG)),
    Transitive("丢", LOSE, (KEY, PHONE, WATCH, UMBRELLA, BAG, HAT, SCARF, CAMERA)),
    Transitive("打破", BREAK, (CUP, PLATE, BOWL, MIRROR, LAMP)),
    Transitive("收到", Verb("receive"), (LETTER, GIFT, PHOTO, FLOWER, EMAIL, POSTCARD)),
)
GIVEN = (
    BOOK,
    NOVEL,
    PEN,
    PENCIL,
    UMBRELLA,
    WATCH,
    HAT,
    SCARF,
    BALL,
    TOY,
    PHOTO,
    MAP,
    FLOWER,
    GIFT,
    *FRUITS[:3],
)

# Time and weather

WEEKDAYS = (
    Word("星期一", "Monday"),
    Word("星期二", "Tuesday"),
    Word("星期三", "Wednesday"),
    Word("星期四", "Thursday"),
    Word("星期五", "Friday"),
    Word("星期六", "Saturday"),
    Word("星期天", "Sunday"),
)
ON_WEEKDAYS = tuple(Word(day.zh, f"on {day.en}") for day in WEEKDAYS)
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
SEASONS = (Word("春天", "spring"), Word("夏天", "summer"), Word("秋天", "autumn"), Word("冬天", "winter"))
PAST_DAYS = (
    Word("昨天", "yesterday"),
    Word("昨天早上", "yesterday morning"),
    Word("昨天下午", "yesterday afternoon"),
    Word("昨天晚上", "last night"),
    *(Word(f"上个{day.zh}", f"last {day.en}") for day in WEEKDAYS),
)
PAST_SPANS = (Word("上个星期", "last week"), Word("上个月", "last month"), Word("去年", "last year"))
FUTURE_DAYS = (
    Word("明天", "tomorrow"),
    Word("明天早上", "tomorrow morning"),
    Word("明天下午", "tomorrow afternoon"),
    Word("今天晚上", "tonight"),
    *(Word(f"下个{day.zh}", f"next {day.en}") for day in WEEKDAYS),
)
FUTURE_SPANS = (Word("下个星期", "next week"), Word("下个月", "next month"), Word("明年", "next year"))
EVERY = (
    Word("每天", "every day"),
    Word("每天早上", "every morning"),
    Word("每天下午", "every afternoon"),
    Word("每天晚上", "every evening"),
    *(Word(f"每个{day.zh}", f"every {day.en}") for day in WEEKDAYS),
)
OFTEN = (Word("经常", "often"), Word("有时候", "sometimes"), Word("很少", "rarely"), Word("从来不", "never"))
EVENTS = (
    Word("会议", "meeting"),
    Word("音乐会", "concert"),
    Word("比赛", "game"),
    Word("聚会", "party"),
    Word("考试", "exam"),
)
DAY_PARTS = (  # with the hours that belong to them
    (Word("早上", "in the morning"), (6, 7, 8, 9)),
    (Word("下午", "in the afternoon"), (1, 2, 3, 4, 5)),
    (Word("晚上", "in the evening"), (7, 8, 9)),
)
TRANSPORT = (
    Word("坐公共汽车", "by bus"),
    Word("坐火车", "by train"),
    Word("坐出租车", "by taxi"),
    Word("开车", "by car"),
    Word("骑自行车", "by bike"),
    Word("走路", "on foot"),
)
HEAT = (Word("热", "hot"), Word("冷", "cold"), Word("暖和", "warm"), Word("凉快", "cool"))
RAIN, SNOW = Action("下", "雨", Verb("rain")), Action("下", "雪", Verb("snow"))
